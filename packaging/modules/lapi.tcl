#%Module1.0
# The module of this installation for Environment Modules, wherever it lies:
# PREFIX/share/lapi/modulefiles/lapi/VERSION
regsub {/share/lapi/modulefiles/.*$} [file normalize $ModulesCurrentModulefile] {} prefix
proc ModulesHelp {} { puts stderr "IBM LAPI and uDAPL 2.0 on Linux: lapi(7), dat(7), lapirun(1)" }
module-whatis "one-sided communication: IBM LAPI and uDAPL 2.0, version @VERSION@"
conflict lapi
prepend-path PATH              $prefix/bin
prepend-path MANPATH           $prefix/share/man
prepend-path LD_LIBRARY_PATH   $prefix/@LIBDIR@
prepend-path LIBRARY_PATH      $prefix/@LIBDIR@
prepend-path CPATH             $prefix/include
prepend-path PKG_CONFIG_PATH   $prefix/@LIBDIR@/pkgconfig
prepend-path CMAKE_PREFIX_PATH $prefix
setenv       LAPI_PREFIX       $prefix
