// Classifies ten images by the compiled model, from C++17; see README.md.
#include <algorithm>
#include <array>
#include <cstdio>

#include "digits.hpp"
#include "digits_images.h"

int main() {
    digits::Model model;
    std::array<float, digits::tensor_logits::elements> logits;
    int correct = 0;
    for (int number = 0; number < DIGITS_IMAGE_COUNT; number++) {
        const digits::Status status = model.run(digits_images[number], logits);
        if (status != digits::Status::ok) {
            std::printf("image %d: %s\n", number, digits::to_string(status));
            return 1;
        }
        const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
        std::printf("image %d: recognised %d, label %d\n", number, static_cast<int>(best), digits_labels[number]);
        correct += best == digits_labels[number];
    }
    std::printf("%d of %d correct\n", correct, DIGITS_IMAGE_COUNT);
    return correct == DIGITS_IMAGE_COUNT ? 0 : 1;
}
