"""Headers of C libraries, compilers and operating systems. A model's header goes on the include path, where it would
hide one of the same name."""

_STEMS = """
    acc_prof adxintrin aio aliases alloca altivec ammintrin amxavx512intrin amxbf16intrin amxcomplexintrin
    amxfp16intrin amxfp8intrin amxint8intrin amxintrin amxmovrsintrin amxtf32intrin amxtileintrin amxtransposeintrin
    ar argp argz arm64intr arm_acle arm_bf16 arm_cde arm_cmse arm_fp16 arm_mve arm_mve_types arm_neon
    arm_neon_sve_bridge arm_private_sme arm_sme arm_sme_draft_spec_subject_to_change arm_sve arm_sve_bridge
    arm_vector_types armintr assert availability availabilitymacros avx10_2satcvtintrin avx2intrin
    avx5124fmapsintrin avx5124vnniwintrin avx512bf16intrin avx512bf16vlintrin avx512bitalgintrin avx512bwintrin
    avx512cdintrin avx512dqintrin avx512erintrin avx512fintrin avx512fp16intrin avx512fp16vlintrin avx512ifmaintrin
    avx512ifmavlintrin avx512pfintrin avx512vbmi2intrin avx512vbmi2vlintrin avx512vbmiintrin avx512vbmivlintrin
    avx512vlbf16intrin avx512vlbitalgintrin avx512vlbwintrin avx512vlcdintrin avx512vldqintrin avx512vlfp16intrin
    avx512vlintrin avx512vlvbmi2intrin avx512vlvnniintrin avx512vlvp2intersectintrin avx512vnniintrin
    avx512vnnivlintrin avx512vp2intersectintrin avx512vp2intersectvlintrin avx512vpopcntdqintrin
    avx512vpopcntdqvlintrin avxifmaintrin avxintrin avxneconvertintrin avxvnniint16intrin avxvnniint8intrin
    avxvnniintrin backtrace bitstring block bmi2intrin bmiintrin bmmintrin builtins byteswap cet cetintrin
    cldemoteintrin clflushoptintrin clwbintrin clzerointrin cmpccxaddintrin complex conditionalmacros conio cpio
    cpuid crc32intrin crtdbg crypt ctype curses cxxabi dbm devctl direct dirent dlfcn eh elf emmintrin endian
    enqcmdintrin envlock envz err errno error excpt execinfo f16cintrin fastmath fcntl features fenv float
    fma4intrin fmaintrin fmtmsg fnmatch fpieee fpu_control fstab fts ftw fxsrintrin gconv gcov getopt gfniintrin
    glob gpuintrin grp gshadow hexagon_circ_brev_intrinsics hexagon_protos hexagon_types histedit hresetintrin
    htmintrin htmxlintrin hvx_hexagon_protos ia32intrin iconv ieee754 ieeefp ifaddrs immintrin intrin intrin0
    inttypes invpcidintrin io iso646 keylockerintrin kvm langinfo larchintrin lastlog lasxintrin libgen libintl
    libproc libunwind libutil limits link locale loongarch_base lsxintrin lwpintrin lzcntintrin malloc malloc_np
    math mbctype mbstring mcheck memory minmax mm3dnow mm_malloc mmintrin mntent monetary movdirintrin mqueue msa
    mwaitintrin mwaitxintrin ncurses ndbm netconfig netdb new newlib nl_types nlist nmmintrin nss nsswitch ntsid
    oaidl obstack ole2 omp openacc panel paths pconfigintrin pkuintrin pmmintrin poll popcntintrin prfchiintrin
    prfchwintrin printf proc_service process pthread pthread_spis pthread_workqueue ptwriteintrin pty pwd quadmath
    quadmath_weak ranlib raointintrin rdseedintrin re_comp readline reent regdef regex regexp resolv riscv_bitmanip
    riscv_cmo riscv_corev_alu riscv_crypto riscv_ntlh riscv_th_vector riscv_vector rtmintrin rune runetype runtype
    s390intrin sal sched search semaphore serializeintrin setjmp sgtty sgxintrin sha512intrin shadow shaintrin share
    sifive_vector signal sm3intrin sm4intrin smmintrin spawn stab standards stdafx stdalign stdarg stdatomic stdbit
    stdbool stdckdint stdcountof stddef stdfix stdint stdio stdio_ext stdlib stdnoreturn string strings syscall
    sysctl sysexits syslimits syslog tar targetconditionals tbmintrin tchar term termio termios tgmath thread_db
    threads time tmmintrin tsxldtrkintrin ttyent typeinfo tzfile uchar ucontext ucred uintrintrin ulimit unctrl
    unistd unwind usermsrintrin util utime utmp utmpx vadefs vaesintrin values varargs vecintrin vpclmulqdqintrin
    wait waitpkgintrin wasm_simd128 wbnoinvdintrin wchar wctype winbase windef windows winnt winsock winsock2
    wmmintrin wordexp ws2tcpip x86gprintrin x86intrin xlocale xmmintrin xopintrin xsavecintrin xsaveintrin
    xsaveoptintrin xsavesintrin xtestintrin yieldintrin yvals yvals_core zconf
"""
"""Without ``.h``, in small letters: of the C standard, POSIX, glibc, Linux, newlib, bionic, the BSDs, macOS, Windows,
GCC and clang."""

SYSTEM_HEADERS = frozenset(_STEMS.split())
