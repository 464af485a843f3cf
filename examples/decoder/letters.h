/* The letters of decoder.onnx by their numbers; 0 is the end of the text. Written by train.py. */
#define END 0
#define LETTERS 36

static const char letters[LETTERS + 1] = "\0" "\n !,.;HILTUWabcdefghiklmnoprstuvwyz";
