// The product's own calls of the system, by way of the FaultyDisk that holds
// the file; files elsewhere are left alone.
#ifndef DPNMF_TESTS_FAULTS_FAULTY_SYSTEM_H_
#define DPNMF_TESTS_FAULTS_FAULTY_SYSTEM_H_

namespace dpnmf::faults {

// For the rest of the process. Idempotent.
void PutFaultySystemInPlace();

}  // namespace dpnmf::faults

#endif  // DPNMF_TESTS_FAULTS_FAULTY_SYSTEM_H_
