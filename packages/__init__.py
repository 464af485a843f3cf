"""Packages: a model in the layout of CMake, Arduino, PlatformIO, Zephyr, ESP-IDF, CMSIS-Pack, STM32Cube, make or
Android, with a manifest and an application that runs it on a sample."""
