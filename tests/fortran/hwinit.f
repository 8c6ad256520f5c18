C hwinit.f - a program that knows nothing of profiling (guide, Chapter 9,
C step 7): LAPI_INIT with an array of integers, a put, LAPI_TERM.
      PROGRAM HWINIT
      INCLUDE 'lapif.h'
      INTEGER HANDLE, INFO(25), IERROR, I
      TYPE (LAPI_CNTR_T) CNTR
      DO I = 1, 25
        INFO(I) = 0
      END DO
      CALL LAPI_INIT(HANDLE, INFO, IERROR)
      IF (IERROR .NE. LAPI_SUCCESS) STOP 1
      CALL LAPI_SETCNTR(HANDLE, CNTR, 0, IERROR)
      CALL LAPI_PUT(HANDLE, 0, 0_LAPI_LONG_TYPE, LAPI_ADDR_NULL,
     +              LAPI_ADDR_NULL, LAPI_ADDR_NULL, CNTR,
     +              LAPI_ADDR_NULL, IERROR)
      IF (IERROR .NE. LAPI_SUCCESS) STOP 2
      CALL LAPI_WAITCNTR(HANDLE, CNTR, 1, LAPI_ADDR_NULL, IERROR)
      CALL LAPI_TERM(HANDLE, IERROR)
      IF (IERROR .NE. LAPI_SUCCESS) STOP 3
      WRITE (*,'(A)') 'hwinit is over'
      END
