// A file descriptor with one owner.
#ifndef DPNMF_COMMON_BASE_DESCRIPTOR_H_
#define DPNMF_COMMON_BASE_DESCRIPTOR_H_

#include <unistd.h>

#include <utility>

namespace dpnmf {

// Closes the descriptor at the end of its life.
class Descriptor {
 public:
  Descriptor() = default;
  // Takes what open, socket and their like return; below 0: none.
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { Close(); }
  Descriptor(Descriptor&& other) noexcept
      : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      Close();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }

  bool ok() const { return number_ >= 0; }
  int get() const { return number_; }
  // Returns false on an error of an earlier write, which a network file system
  // reports here. Does nothing if there is none.
  bool Close() {
    return number_ < 0 || ::close(std::exchange(number_, -1)) == 0;
  }

 private:
  int number_ = -1;
};

}  // namespace dpnmf

#endif  // DPNMF_COMMON_BASE_DESCRIPTOR_H_
