// Windows that slide over pictures, as those of a convolution or a pooling do.
#pragma once

#include <algorithm>

#include "operator.h"

namespace device_kernels {

// A batch of pictures. What has one axis of places is a picture of one row.
struct Pictures {
  int64_t count, channels, height, width;

  explicit Pictures(const Shape& shape) {
    require(shape.size() == 3 || shape.size() == 4, "X has neither one nor two axes of places");
    count = shape[0], channels = shape[1];
    height = shape.size() == 4 ? shape[2] : 1, width = shape.back();
  }

  int64_t places() const { return height * width; }
};

struct Window {
  int64_t height, width, row_stride, column_stride, top, bottom, left, right;
  int64_t row_dilation, column_dilation;

  Window(const OrtApi& api, const OrtKernelInfo* info)
      : height(integer_attribute(api, info, "height", 1)),
        width(integer_attribute(api, info, "width", 1)),
        row_stride(integer_attribute(api, info, "row_stride", 1)),
        column_stride(integer_attribute(api, info, "column_stride", 1)),
        top(integer_attribute(api, info, "top", 0)),
        bottom(integer_attribute(api, info, "bottom", 0)),
        left(integer_attribute(api, info, "left", 0)),
        right(integer_attribute(api, info, "right", 0)),
        row_dilation(integer_attribute(api, info, "row_dilation", 1)),
        column_dilation(integer_attribute(api, info, "column_dilation", 1)) {}

  int64_t area() const { return height * width; }

  // How many windows there are over a picture, one below and one beside the other.
  int64_t rows(const Pictures& x) const {
    return count(x.height + top + bottom, (height - 1) * row_dilation + 1, row_stride);
  }
  int64_t columns(const Pictures& x) const {
    return count(x.width + left + right, (width - 1) * column_dilation + 1, column_stride);
  }

  // Whether each window over a picture has a value of it: none lies in the border alone, and none has the
  // whole picture between two of its values.
  bool reaches(const Pictures& x) const {
    return reaches(x.height, height, row_dilation, std::max(top, bottom)) &&
           reaches(x.width, width, column_dilation, std::max(left, right));
  }

  // Of what is computed for each window, of pictures of that shape.
  Shape result(Shape shape, int64_t channels) const {
    const Pictures x(shape);
    shape[1] = channels;
    if (shape.size() == 4) shape[2] = rows(x);
    shape.back() = columns(x);
    return shape;
  }

 private:
  static bool reaches(int64_t size, int64_t values, int64_t dilation, int64_t border) {
    return border <= (values - 1) * dilation && (border == 0 || dilation <= size);
  }

  static int64_t count(int64_t size, int64_t extent, int64_t stride) {
    require(size >= extent, "the window is larger than the picture");
    return (size - extent) / stride + 1;
  }
};

}  // namespace device_kernels
