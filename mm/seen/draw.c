/* What a kernel uses, and what that would cost from another node. See the header. */
#include "mm/seen/draw.h"

#include "msg/message.h"

void seen_tally_see(struct seen_tally *tally, const struct seen_use *use, seen_distances distance)
{
    uint64_t away = use->others & ~(1ull << use->node);

    if (away == 0 && (!use->stays || use->here == use->node)) {
        tally->own += use->weight;
    } else if (use->copied) {
        tally->copied += use->weight;
    } else {
        bool comes = !use->stays && away == use->others &&
                     kernel_set_count(away) == 1; /* to those who would be its only users */

        tally->now += (uint64_t)use->weight * distance[use->here][use->node];
        tally->left[comes ? (uint32_t)__builtin_ctzll(away) : use->here] += use->weight;
    }
}

void seen_tally_clear(struct seen_tally *tally, uint32_t nodes)
{
    tally->own = tally->copied = tally->now = 0;
    for (uint32_t node = 0; node < nodes; node++)
        tally->left[node] = 0;
}

bool seen_tally_draws(const struct seen_tally *tally, uint32_t nodes, uint32_t node, seen_distances distance,
                      struct seen_draw *out)
{
    uint64_t all = tally->own + tally->copied, most = 0, stays, goes;
    uint32_t to = node;

    for (uint32_t at = 0; at < nodes; at++) {
        all += tally->left[at];
        if (at != node && tally->left[at] > most) {
            most = tally->left[at];
            to = at;
        }
    }
    if (to == node || all < DRAW_ENOUGH)
        return false;
    stays = tally->now + (tally->own + tally->copied) * distance[node][node];
    goes = tally->own * distance[node][to] + tally->copied * distance[to][to];
    for (uint32_t at = 0; at < nodes; at++)
        goes += tally->left[at] * distance[at][to];
    if (goes >= stays)
        return false;
    out->node = to;
    out->part = (uint32_t)(goes * DRAW_WHOLE / stays);
    out->own = (uint32_t)(tally->own * DRAW_WHOLE / all);
    return true;
}
