// A 9-point blur over an image, tile by tile: what examples/command/*.json
// tune. Build with -DTILE_ROWS=... -DTILE_COLUMNS=...; prints its time and a
// checksum. Part of Attune, under the Apache License v2.0 with LLVM Exceptions;
// see LICENSE. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#ifndef TILE_ROWS
#define TILE_ROWS 64
#endif
#ifndef TILE_COLUMNS
#define TILE_COLUMNS 64
#endif
#ifndef TYPE
#define TYPE double
#endif

constexpr int rows = 1026, columns = 1026, sweeps = 8;
using Image = std::vector<TYPE>;

static void blurTile(const Image &in, Image &out, int row, int column) {
  int lastRow = std::min(row + TILE_ROWS, rows - 1);
  int lastColumn = std::min(column + TILE_COLUMNS, columns - 1);
#ifdef COLUMNS_FIRST
  for (int j = column; j < lastColumn; ++j)
    for (int i = row; i < lastRow; ++i) {
#else
  for (int i = row; i < lastRow; ++i)
    for (int j = column; j < lastColumn; ++j) {
#endif
      TYPE sum = 0;
      for (int y = -1; y <= 1; ++y)
        for (int x = -1; x <= 1; ++x)
          sum += in[(i + y) * columns + j + x];
      out[i * columns + j] = sum / 9;
    }
}

int main() {
#ifdef CRASH_ABOVE // For the example whose run crashes for some values.
  if (TILE_ROWS > CRASH_ABOVE)
    __builtin_trap();
#endif
  Image image(rows * columns), next;
  for (int i = 0; i < rows * columns; ++i)
    image[i] = i % 251;
  next = image;
  auto begin = std::chrono::steady_clock::now();
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    for (int i = 1; i < rows - 1; i += TILE_ROWS)
      for (int j = 1; j < columns - 1; j += TILE_COLUMNS)
        blurTile(image, next, i, j);
    std::swap(image, next);
  }
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - begin;
  double sum = 0;
  for (TYPE value : image)
    sum += value;
  std::printf("time: %.6f s\nchecksum: %.4e\n", seconds.count(), sum);
}
