#define CMSIS_device_header "device.h"
