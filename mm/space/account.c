/* What looks, moves and copies may cost. See the header. */
#include "mm/space/account.h"

const struct seen_rule seen_moves = {.part = 16, .saved = 64};
const struct seen_rule seen_looks = {.part = 32, .saved = 4};

void seen_account_fill(struct seen_account *account, const struct seen_rule *rule, uint64_t now, uint64_t half,
                       uint32_t kernels)
{
    int64_t most = (int64_t)(rule->saved * half / rule->part * kernels);
    uint64_t passed = account->filled != 0 && now > account->filled ? now - account->filled : 0;

    if (account->filled == 0)
        account->filled = now;
    account->filled += passed - passed % rule->part; /* the rest is added later */
    account->left += (int64_t)(passed / rule->part * kernels);
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

uint64_t seen_account_wait(const struct seen_account *account, const struct seen_rule *rule)
{
    return account->left < 0 ? (uint64_t)-account->left * rule->part : 0;
}
