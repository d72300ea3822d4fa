// Limits of this machine: Eigen's double GEMM on given shapes, and STREAM's
// triad. A program of its own, compiled for this very machine, so that the
// figure is not that of the portable build (and Eigen objects of two
// instruction sets never share a program).
//
//   dpnmf_roofline gemm D K N THREADS    GFLOP/s of W'V (W: D x K, V: D x N)
//   dpnmf_roofline triad THREADS         GB/s of a = b + s c
//
// Prints two numbers: per second of processor time, times the threads (what
// a quiet machine would give; other load disturbs it little), and per second
// that passed.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <thread>
#include <vector>

#include "Eigen/Core"

namespace {

struct Rates {
  double by_processor = 0, by_wall = 0;
};

// The median of seven runs of `work`, which does `amount` in all.
Rates Measure(double amount, int threads, const std::function<void()>& work) {
  work();
  std::vector<double> processor, wall;
  for (int run = 0; run < 7; ++run) {
    const std::clock_t start = std::clock();
    const auto wall_start = std::chrono::steady_clock::now();
    work();
    processor.push_back(static_cast<double>(std::clock() - start) /
                        CLOCKS_PER_SEC);
    wall.push_back(std::chrono::duration<double>(
                       std::chrono::steady_clock::now() - wall_start)
                       .count());
  }
  std::nth_element(processor.begin(), processor.begin() + 3, processor.end());
  std::nth_element(wall.begin(), wall.begin() + 3, wall.end());
  return {amount * threads / processor[3], amount / wall[3]};
}

void OnThreads(int threads, const std::function<void(int)>& work) {
  std::vector<std::thread> pool;
  for (int i = 1; i < threads; ++i) pool.emplace_back(work, i);
  work(0);
  for (std::thread& thread : pool) thread.join();
}

// Every thread its own users, in parts that a caller would choose.
Rates Gemm(int features, int rank, int users, int threads) {
  constexpr int kLargestPart = 2048;
  const Eigen::MatrixXd w = Eigen::MatrixXd::Random(features, rank);
  const Eigen::MatrixXd v = Eigen::MatrixXd::Random(features, users);
  Eigen::MatrixXd c(rank, users);
  const double flops = 2.0 * features * rank * users;
  const int repeats = static_cast<int>(1e9 / flops) + 1;
  return Measure(flops * repeats * 1e-9, threads, [&] {
    OnThreads(threads, [&](int thread) {
      const int first =
          static_cast<int>(std::int64_t{users} * thread / threads);
      const int end =
          static_cast<int>(std::int64_t{users} * (thread + 1) / threads);
      for (int repeat = 0; repeat < repeats; ++repeat) {
        for (int at = first; at < end; at += kLargestPart) {
          const int count = std::min(kLargestPart, end - at);
          c.middleCols(at, count).noalias() =
              w.transpose() * v.middleCols(at, count);
        }
      }
    });
  });
}

// 3 x 8 bytes an entry, as STREAM counts.
Rates Triad(int threads) {
  constexpr std::size_t kEntries = std::size_t{1} << 25;
  std::vector<double> a(kEntries, 0), b(kEntries, 1), c(kEntries, 2);
  return Measure(24e-9 * kEntries, threads, [&] {
    OnThreads(threads, [&](int thread) {
      double* const to = a.data();
      const double* const x = b.data();
      const double* const y = c.data();
      for (std::size_t i = kEntries * thread / threads;
           i < kEntries * (thread + 1) / threads; ++i)
        to[i] = x[i] + 3.0 * y[i];
    });
  });
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int i) { return std::max(1, std::atoi(argv[i])); };
  Rates rates;
  if (argc == 6 && std::strcmp(argv[1], "gemm") == 0) {
    rates = Gemm(number(2), number(3), number(4), number(5));
  } else if (argc == 3 && std::strcmp(argv[1], "triad") == 0) {
    rates = Triad(number(2));
  } else {
    std::fprintf(stderr,
                 "usage: dpnmf_roofline gemm D K N THREADS | triad THREADS\n");
    return 2;
  }
  std::printf("%.3f %.3f\n", rates.by_processor, rates.by_wall);
  return 0;
}
