// Casts by type at run time, and names of types.
#include "abi.h"

#include <typeinfo>

struct base {
    virtual ~base() = default;
    virtual int value() const { return 1; }
};
struct left : virtual base {
    int value() const override { return 2; }
};
struct right : virtual base {};
struct both : left, right {
    int value() const override { return 4; }
};
int main(int, char **)
{
    both object;
    base *pointer = &object;
    base plain, *other = &plain;
    SHOW(pointer->value());
    SHOW(dynamic_cast<right *>(pointer) != nullptr);
    SHOW(dynamic_cast<left *>(other) == nullptr);
    SHOW(typeid(*pointer) == typeid(both));
    try {
        dynamic_cast<left &>(*other).value();
    } catch (const std::bad_cast &) {
        printf("bad_cast\n");
    }
    return 0;
}
