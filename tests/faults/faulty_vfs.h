// A SQLite VFS over the system's own: every open, read, write, truncation, sync
// and deletion of a file that a FaultyDisk holds goes by way of it.
#ifndef DPNMF_TESTS_FAULTS_FAULTY_VFS_H_
#define DPNMF_TESTS_FAULTS_FAULTY_VFS_H_

namespace dpnmf::faults {

// Becomes SQLite's default for the rest of the process. Idempotent. The name
// "unix" still means the system's own.
void PutFaultyVfsInPlace();

}  // namespace dpnmf::faults

#endif  // DPNMF_TESTS_FAULTS_FAULTY_VFS_H_
