! As much of <windrow/windrow.h> as solving takes, for Fortran 2008: a file to be compiled with your own. Members of the structs
! are in the header's order, and what calls do is said there. Rows and columns are counted from 0. A handle is a type(c_ptr).
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

    ! name ends with c_null_char.
    function wr_read(name, A) bind(C) result(status)
      import
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), intent(out) :: A
      integer(c_int) :: status
    end function

    function wr_matrix_rows(A) bind(C) result(rows)
      import
      type(c_ptr), value :: A
      integer(c_int64_t) :: rows
    end function

    subroutine wr_matrix_free(A) bind(C)
      import
      type(c_ptr), value :: A
    end subroutine

    function wr_solver_new(A, options, solver) bind(C) result(status)
      import
      type(c_ptr), value :: A
      type(wr_solve_options), intent(in) :: options
      type(c_ptr), intent(out) :: solver
      integer(c_int) :: status
    end function

    ! The right-hand sides are the columns of b(ldb, count), the solutions those of x(ldx, count); found(count)%size is set.
    function wr_solver_solve_many(solver, count, b, ldb, x, ldx, found) bind(C) result(status)
      import
      type(c_ptr), value :: solver
      integer(c_int64_t), value :: count, ldb, ldx
      real(c_double), intent(in) :: b(*)
      real(c_double), intent(inout) :: x(*)
      type(wr_solve_result), intent(inout) :: found(*)
      integer(c_int) :: status
    end function

    subroutine wr_solver_free(solver) bind(C)
      import
      type(c_ptr), value :: solver
    end subroutine

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
