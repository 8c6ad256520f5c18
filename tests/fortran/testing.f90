! testing.f90 - what the Fortran tests share: cases that are counted, and the start and end of a job. All INTEGERs have their kind, so that the
! tests can be compiled with -fdefault-integer-8, too.
module testing
  implicit none
  integer(4), save :: passed = 0, failed = 0, wrong = 0
  logical(4), save :: quiet = .false. ! only failures are printed: in all tasks but one

contains

  ! In a case: says what is wrong and goes on.
  subroutine expect(ok, what)
    logical, intent(in) :: ok
    character(*), intent(in) :: what
    if (ok) return
    write (0, '(2a)') 'not true: ', what
    wrong = wrong + 1_4
  end subroutine expect

  subroutine code(want, got, what)
    integer(4), intent(in) :: want, got
    character(*), intent(in) :: what
    if (got == want) return
    write (0, '(2a,i0,a,i0)') what, ': ierror is ', got, ', not ', want
    wrong = wrong + 1_4
  end subroutine code

  subroutine good(got, what)
    integer(4), intent(in) :: got
    character(*), intent(in) :: what
    call code(0_4, got, what)
  end subroutine good

  subroutine end_case(name)
    character(*), intent(in) :: name
    if (wrong == 0) then
      passed = passed + 1_4
      if (.not. quiet) print '(2a)', '  pass ', name
    else
      failed = failed + 1_4
      print '(2a)', '  FAIL ', name
    end if
    wrong = 0
  end subroutine end_case

  ! The closing line; ends the program.
  subroutine finish(name)
    character(*), intent(in) :: name
    if (.not. quiet) print '(a,a,i0,a,i0,a)', name, ': ', passed, ' passed, ', failed, ' failed, 0 skipped'
    if (failed > 0) stop 1
  end subroutine finish

  ! LAPI_INIT with all of lapi_info zero but the library's version, and err_hndlr, an address or 0.
  subroutine start(hndl, task, tasks, err_hndlr)
    include 'lapif.h'
    integer(4), intent(out) :: hndl, task, tasks
    integer(LAPI_ADDR_TYPE), intent(in) :: err_hndlr
    type(LAPI_INFO_T) :: info
    integer(4) :: rc
    info%protocol = 0
    info%lib_vers = LAST_LIB
    info%epoch_num = 0
    info%num_compl_hndlr_thr = 0
    info%instance_no = 0
    info%info6 = 0
    info%err_hndlr = err_hndlr
    info%lapi_thread_attr = 0
    info%adapter_name = 0
    info%add_info = 0
    call LAPI_INIT(hndl, info, rc)
    if (rc /= LAPI_SUCCESS) then
      write (0, '(a,i0)') 'LAPI_INIT gave ', rc
      stop 2
    end if
    call LAPI_QENV(hndl, TASK_ID, task, rc)
    call LAPI_QENV(hndl, NUM_TASKS, tasks, rc)
    quiet = task /= 0
  end subroutine start
end module testing
