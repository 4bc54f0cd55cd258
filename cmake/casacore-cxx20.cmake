# casacore before 3.6 names members of std::allocator that C++20 removed. Where its header still does, a corrected
# copy is put in front of it: the same classes over an allocator that has these members. The layout and the
# virtual functions stay as the compiled library has them.
set(APSYN_CASACORE_CXX20 ${CMAKE_BINARY_DIR}/casacore-cxx20 CACHE PATH
    "Where that copy goes: builds that share it share objects in a compiler cache")
set(header casacore/casa/Containers/Allocator.h)
file(READ ${CASACORE_INCLUDE}/${header} text)
if(text MATCHES "using std11_allocator = std::allocator<T>;")
  string(REPLACE "using std11_allocator = std::allocator<T>;" [[
struct std11_allocator : std::allocator<T> {
  using pointer = T*;
  using const_pointer = const T*;
  using reference = T&;
  using const_reference = const T&;
  using size_type = std::size_t;
  using difference_type = std::ptrdiff_t;
  using value_type = T;
  size_type max_size() const { return static_cast<size_type>(-1) / sizeof(T); }
  template <typename U, typename... Args>
  void construct(U* at, Args&&... args) { ::new (static_cast<void*>(at)) U(std::forward<Args>(args)...); }
  template <typename U>
  void destroy(U* at) { at->~U(); }
};]] text "${text}")
  string(REPLACE "std::allocator<T2>" "std11_allocator<T2>" text "${text}")
  file(CONFIGURE OUTPUT ${APSYN_CASACORE_CXX20}/${header} CONTENT "${text}" @ONLY)
  target_include_directories(apsyn_casacore SYSTEM BEFORE INTERFACE ${APSYN_CASACORE_CXX20})
endif()
