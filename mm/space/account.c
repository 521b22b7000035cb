/* What moves and copies of a space may cost. See the header. */
#include "mm/space/account.h"

void seen_account_fill(struct seen_account *account, uint64_t now, uint64_t half, uint32_t kernels)
{
    int64_t most = (int64_t)(ACCOUNT_SAVED * half / ACCOUNT_PART * kernels);
    uint64_t passed = account->filled != 0 && now > account->filled ? now - account->filled : 0;

    if (account->filled == 0)
        account->filled = now;
    account->filled += passed - passed % ACCOUNT_PART; /* the rest is added later */
    account->left += (int64_t)(passed / ACCOUNT_PART * kernels);
    account->left = account->left < most ? account->left : most;
    account->left = account->left > -most ? account->left : -most;
}

void seen_account_pay(struct seen_account *account, uint64_t cost)
{
    account->left -= (int64_t)cost;
}

bool seen_account_has(const struct seen_account *account)
{
    return account->left >= 0;
}
