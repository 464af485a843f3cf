/* What an Arduino core has behind a sketch; here its loop runs once. */
void setup();
void loop();

int main()
{
  setup();
  loop();
  return 0;
}
