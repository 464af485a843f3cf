"""The Java class of a model: its source, the native code behind it, and class files."""
