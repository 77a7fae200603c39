/* Classifies images of digits by a program that qmlir has emitted: reads 64 numbers from 0 to 1 for each image, from
   the upper left to the lower right, and prints a digit on a line. */

#include <stdio.h>

#include "digits.h"

int main(void) {
    float image[DIGITS_INPUT_ELEMENTS], logits[DIGITS_LOGITS_ELEMENTS];
    for (;;) {
        int best = 0, wrong;
        for (int place = 0; place < DIGITS_INPUT_ELEMENTS; place++) {
            if (scanf("%f", &image[place]) != 1) {
                if (place == 0 && feof(stdin)) {
                    return 0;
                }
                fprintf(stderr, "an image is %d numbers, found %s after %d of them\n", DIGITS_INPUT_ELEMENTS,
                        feof(stdin) ? "the end" : "something else", place);
                return 1;
            }
        }
        wrong = digits_run(image, logits);
        if (wrong) {
            fprintf(stderr, "input %d holds NaN\n", wrong);
            return 1;
        }
        for (int digit = 1; digit < DIGITS_LOGITS_ELEMENTS; digit++) {
            best = logits[digit] > logits[best] ? digit : best;
        }
        printf("%d\n", best);
    }
}
