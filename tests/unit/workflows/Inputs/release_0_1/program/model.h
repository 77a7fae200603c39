/* model: a neural network, emitted by qmlir. */
#ifndef MODEL_H
#define MODEL_H

#include <stdint.h>

/* Bytes of working memory and of all constants; elements of each array. */
#define MODEL_ARENA_BYTES 384
#define MODEL_WEIGHTS_BYTES 260
#define MODEL_TOKENS_ELEMENTS 6 /* tokens: 'tokens', 2x3 int64 */
#define MODEL_LOGITS_ELEMENTS 24 /* logits: 'logits', 2x3x4 float32 */

#ifdef __cplusplus
extern "C" {
#endif

/* Compute the outputs. Gives 0, or k > 0 where input k (from 1) holds NaN or what is not a value of its
   type: then nothing is computed. Arrays share no memory but where that is said of an output above.
   Working memory is static: one call at a time. */
int model_run(const int64_t *tokens, float *logits);

/* The same in MODEL_ARENA_BYTES bytes of the caller, aligned to 64:
   calls in different memory may run at once. */
int model_run_in(void *arena, const int64_t *tokens, float *logits);

#ifdef __cplusplus
}
#endif

#endif /* MODEL_H */
