! Solves A x = b from Fortran. The first module has as much of <windrow/windrow.h> as that takes; members of the structs are in
! the header's order. Rows and columns are counted from 0.
module windrow
  use, intrinsic :: iso_c_binding
  implicit none

  type, bind(C) :: wr_solve_options
    integer(c_size_t) :: size = 0
    type(c_ptr) :: backend = c_null_ptr, device = c_null_ptr, precision = c_null_ptr, method = c_null_ptr
    type(c_ptr) :: precond = c_null_ptr, scale = c_null_ptr, fallback = c_null_ptr, stop = c_null_ptr, verify = c_null_ptr
    real(c_double) :: tolerance = 0, atol = 0, time_limit = 0
    integer(c_int64_t) :: max_iterations = 0, check_every = 0
    integer(c_int) :: ell = 0, threads = 0, deterministic = 0
    type(c_ptr) :: x0 = c_null_ptr
    type(c_funptr) :: precondition = c_null_funptr, progress = c_null_funptr, log = c_null_funptr
    type(c_ptr) :: context = c_null_ptr, trace = c_null_ptr
  end type

  type, bind(C) :: wr_solve_result
    integer(c_size_t) :: size = 0
    integer(c_int) :: status = 0, outcome = 0, verified = 0, on_host = 0
    integer(c_int64_t) :: iterations = 0, multiplies = 0, checked_rows = 0
    real(c_double) :: residual = 0, bound = 0, attainable = 0, backward = 0
    real(c_double) :: prepare_seconds = 0, transfer_seconds = 0, solve_seconds = 0, verify_seconds = 0, total_seconds = 0
    character(kind=c_char) :: method(16), backend(64), device(128), precond(128), note(512)
  end type

  interface
    function wr_solve_csr(n, row_ptr, col, val, b, x, options, outcome) bind(C) result(status)
      import
      integer(c_int64_t), value :: n
      integer(c_int32_t), intent(in) :: row_ptr(*), col(*)
      real(c_double), intent(in) :: val(*), b(*)
      real(c_double), intent(inout) :: x(*)
      type(wr_solve_options), intent(in) :: options
      type(wr_solve_result), intent(inout) :: outcome
      integer(c_int) :: status
    end function

    function wr_status_message() bind(C) result(text)
      import
      type(c_ptr) :: text
    end function

    function wr_outcome_title(outcome) bind(C) result(text)
      import
      integer(c_int), value :: outcome
      type(c_ptr) :: text
    end function
  end interface

contains

  ! A text of C's as one of Fortran's.
  function text_of(pointer) result(text)
    type(c_ptr), intent(in) :: pointer
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: length
    call c_f_pointer(pointer, letters, [1024])
    length = 0
    do while (letters(length + 1) /= c_null_char)
      length = length + 1
    end do
    allocate (character(len=length) :: text)
    text = transfer(letters(1:length), text)
  end function
end module

! Heat carried by a wind along a row of cells; b is A times the x with x(i) = i, so that the answer is known.
program solve_fortran
  use windrow
  implicit none
  integer, parameter :: n = 1000
  integer(c_int32_t) :: row_ptr(n + 1), col(3 * n)
  real(c_double) :: val(3 * n), b(n), x(n)
  type(wr_solve_options) :: options
  type(wr_solve_result) :: found
  character(kind=c_char), target :: cpu(4) = ['c', 'p', 'u', c_null_char]
  integer :: i, j, k

  k = 0
  row_ptr(1) = 0
  do i = 1, n
    b(i) = 0
    do j = max(i - 1, 1), min(i + 1, n)
      k = k + 1
      col(k) = j - 1
      val(k) = merge(2.5d0, merge(-1.5d0, -0.5d0, j < i), i == j)
      b(i) = b(i) + val(k) * j
    end do
    row_ptr(i + 1) = k
  end do
  options%size = c_sizeof(options)
  options%tolerance = 1d-12
  options%device = c_loc(cpu)
  found%size = c_sizeof(found)
  if (wr_solve_csr(int(n, c_int64_t), row_ptr, col, val, b, x, options, found) /= 0) then
    print '(2a)', 'solve_fortran: ', text_of(wr_status_message())
    stop 1
  end if
  print '(a, a, i0, a, es7.1, a, es7.1)', text_of(wr_outcome_title(found%outcome)), ' after ', found%iterations, &
    ' iterations, largest error ', maxval(abs(x - [(i, i = 1, n)])), ', residual ', found%residual
end program
