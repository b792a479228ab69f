// Arrow C++ reads and writes sparse tensors, which pyarrow has no functions for: a program that is
// built against the libraries in pyarrow's wheel.
//
//   dense IN OUT         reads a sparse tensor and writes it with all of its elements
//   again IN OUT         reads a sparse tensor and writes it
//   coo|csr|csc|csf int8|…|uint64 IN OUT
//                        reads a tensor and writes it as a sparse one, with such indices
//
// (Arrow 26 calls these functions deprecated.)
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#include <iostream>
#include <map>
#include <string>

#include <arrow/api.h>
#include <arrow/io/api.h>
#include <arrow/ipc/api.h>
#include <arrow/sparse_tensor.h>
#include <arrow/tensor.h>

namespace {

using arrow::Result;
using arrow::Status;

const std::map<std::string, std::shared_ptr<arrow::DataType>> kTypes = {
    {"int8", arrow::int8()},     {"int16", arrow::int16()},   {"int32", arrow::int32()},
    {"int64", arrow::int64()},   {"uint8", arrow::uint8()},   {"uint16", arrow::uint16()},
    {"uint32", arrow::uint32()}, {"uint64", arrow::uint64()},
};

Status WriteSparse(const arrow::SparseTensor& tensor, const std::string& path) {
  ARROW_ASSIGN_OR_RAISE(auto sink, arrow::io::FileOutputStream::Open(path));
  int32_t metadata_length;
  int64_t body_length;
  ARROW_RETURN_NOT_OK(
      arrow::ipc::WriteSparseTensor(tensor, sink.get(), &metadata_length, &body_length));
  return sink->Close();
}

Status WriteDense(const arrow::Tensor& tensor, const std::string& path) {
  ARROW_ASSIGN_OR_RAISE(auto sink, arrow::io::FileOutputStream::Open(path));
  int32_t metadata_length;
  int64_t body_length;
  ARROW_RETURN_NOT_OK(arrow::ipc::WriteTensor(tensor, sink.get(), &metadata_length, &body_length));
  return sink->Close();
}

Result<std::shared_ptr<arrow::SparseTensor>> ToSparse(const arrow::Tensor& tensor,
                                                      const std::string& kind,
                                                      const std::shared_ptr<arrow::DataType>& type) {
  if (kind == "coo") return arrow::SparseCOOTensor::Make(tensor, type);
  if (kind == "csr") return arrow::SparseCSRMatrix::Make(tensor, type);
  if (kind == "csc") return arrow::SparseCSCMatrix::Make(tensor, type);
  return arrow::SparseCSFTensor::Make(tensor, type);
}

Status Run(int count, char** words) {
  if (count < 4) return Status::Invalid("too few arguments");
  const std::string what = words[1];
  const bool from_dense = what != "dense" && what != "again";
  if (from_dense && count < 5) return Status::Invalid("too few arguments");
  const std::string in = words[count - 2];
  const std::string out = words[count - 1];
  ARROW_ASSIGN_OR_RAISE(auto file, arrow::io::ReadableFile::Open(in));
  if (from_dense) {
    ARROW_ASSIGN_OR_RAISE(auto tensor, arrow::ipc::ReadTensor(file.get()));
    ARROW_ASSIGN_OR_RAISE(auto sparse, ToSparse(*tensor, what, kTypes.at(words[2])));
    return WriteSparse(*sparse, out);
  }
  ARROW_ASSIGN_OR_RAISE(auto sparse, arrow::ipc::ReadSparseTensor(file.get()));
  std::cout << sparse->sparse_index()->ToString() << "|" << sparse->type()->ToString() << "|"
            << sparse->non_zero_length() << "|";
  for (const auto& name : sparse->dim_names()) std::cout << name << ",";
  std::cout << "|" << sparse->sparse_index()->ValidateShape(sparse->shape()).ToString() << std::endl;
  if (what == "again") return WriteSparse(*sparse, out);
  ARROW_ASSIGN_OR_RAISE(auto tensor, sparse->ToTensor());
  return WriteDense(*tensor, out);
}

}  // namespace

int main(int count, char** words) {
  const Status status = Run(count, words);
  if (!status.ok()) std::cerr << status.ToString() << std::endl;
  return status.ok() ? 0 : 1;
}
