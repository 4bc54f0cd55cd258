#include <vector>
  # include "libcore/io/fits_image.h"
