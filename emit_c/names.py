"""C identifiers: making them valid, and keeping them apart."""

from __future__ import annotations

import re
from collections.abc import Iterable

_C_KEYWORDS = """
    auto break case char const continue default do double else enum extern float for goto if inline int long register
    restrict return short signed sizeof static struct switch typedef union unsigned void volatile while alignas alignof
    bool constexpr false nullptr static_assert thread_local true typeof typeof_unqual asm
"""
_CPP_KEYWORDS = """
    and and_eq atomic_cancel atomic_commit atomic_noexcept bitand bitor catch char8_t char16_t char32_t class co_await
    co_return co_yield compl concept const_cast consteval constinit decltype delete dynamic_cast explicit export friend
    mutable namespace new noexcept not not_eq operator or or_eq private protected public reflexpr reinterpret_cast
    requires static_cast synchronized template this throw try typeid typename using virtual wchar_t xor xor_eq
"""
# What the headers in use declare, and what gcc predefines without underscores in its default (gnu) modes.
_TAKEN = """
    linux unix i386 arm main NULL offsetof max_align_t ptrdiff_t size_t intptr_t uintptr_t intmax_t uintmax_t
"""
RESERVED = frozenset((_C_KEYWORDS + _CPP_KEYWORDS + _TAKEN).split())
_LOWERCASE_MACROS = """
    alignas alignof and arp_hln arp_hrd arp_op arp_pln arp_pro b64_ntop b64_pton basename bool cdecl complex
    d_fileno direct dn_count_labels dq_bhardlimit dq_bsoftlimit dq_btime dq_curinodes dq_curspace dq_ihardlimit
    dq_isoftlimit dq_itime dq_valid environ errno far fd_set fortran fp_nquery fp_query fp_resstat h_addr h_errno
    hostalias hyper i386 icmp6_data16 icmp6_data32 icmp6_data8 icmp6_id icmp6_maxdelay icmp6_mtu icmp6_pptr
    icmp6_seq icmp_data icmp_gwaddr icmp_id icmp_ip icmp_lifetime icmp_mask icmp_nextmtu icmp_num_addrs icmp_otime
    icmp_pmvoid icmp_pptr icmp_radv icmp_rtime icmp_seq icmp_ttime icmp_void icmp_wpa ifa_broadaddr ifa_dstaddr
    ifc_buf ifc_req ifr__name ifr_addr ifr_bandwidth ifr_broadaddr ifr_data ifr_dstaddr ifr_flags ifr_hwaddr
    ifr_ifindex ifr_map ifr_metric ifr_mtu ifr_name ifr_netmask ifr_newname ifr_qlen ifr_settings ifr_slave
    imaginary interface ip6_flow ip6_hlim ip6_hops ip6_nxt ip6_plen ip6_vfc linux loc_aton loc_ntoa math_errhandling
    max min mld_cksum mld_code mld_maxdelay mld_reserved mld_type msg_cbytes nd_na_cksum nd_na_code
    nd_na_flags_reserved nd_na_type nd_ns_cksum nd_ns_code nd_ns_reserved nd_ns_type nd_ra_cksum nd_ra_code
    nd_ra_curhoplimit nd_ra_flags_reserved nd_ra_router_lifetime nd_ra_type nd_rd_cksum nd_rd_code nd_rd_reserved
    nd_rd_type nd_rs_cksum nd_rs_code nd_rs_reserved nd_rs_type near no_argument noreturn nsaddr optional_argument
    p_cdname p_cdnname p_class p_fqname p_fqnname p_option p_query p_rcode p_time p_type pascal physadr putlong
    putshort quad required_argument res_close res_hostalias res_init res_isourserver res_nameinquery res_nclose
    res_ninit res_queriesmatch res_randomid rr_cksum rr_code rr_seqnum rr_type rt_mss s6_addr s6_addr16 s6_addr32
    sa_handler sa_sigaction sched_priority si_addr si_addr_lsb si_arch si_band si_call_addr si_fd si_int si_lower
    si_overrun si_pid si_pkey si_ptr si_status si_stime si_syscall si_timerid si_uid si_upper si_utime si_value
    sigcontext_struct sigev_notify_attributes sigev_notify_function signgam small ss_name ss_speed st_atime st_ctime
    st_mtime static_assert stats_ptr stderr stdin stdout strtodf sym_ntop sym_ntos sym_ston th_block th_code th_data
    th_msg th_stuff thread_local tzname unix ut_addr ut_name ut_time ut_xtime xEOF
"""
_MACROS = frozenset(_LOWERCASE_MACROS.split())
"""Names in small letters that headers of C, POSIX, Linux and Windows define as macros without parameters: a parameter
of such a name would not compile behind that header."""
_MACRO_FORM = re.compile(r"[A-Z][A-Z0-9]*(_.*)?|[A-Z]{3}.*")
"""The others look so: EOF, I, INT_MAX, P_tmpdir, PRId8."""
_RESERVED_FORM = re.compile(r"u?int(_fast|_least)?\d+_t|U?INT.*|PTRDIFF_.*|SIZE_.*|ccml_.*|CCML_.*")


def c_identifier(text: str) -> str:
    """``text`` with everything that C identifiers may not hold turned into underscores.

    The result is never empty, begins with a letter, and is not a keyword of C or C++ or a name of the headers in use.
    """
    name = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_") or "value"
    if name[0].isdigit():
        name = f"v{name}"
    if name in RESERVED or _RESERVED_FORM.fullmatch(name):
        return f"v_{name}"
    return name


def parameter_name(text: str) -> str:
    """An identifier that no macro of a header, included before or after, turns into something else."""
    name = c_identifier(text)
    if _MACRO_FORM.fullmatch(name):
        name = c_identifier(name.lower())
    return f"v_{name}" if name in _MACROS else name


class Names:
    """Names in use, scope by scope. A name that is visible is never given out again, so nothing is ever shadowed."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        self._visible = set(reserved)
        self._scopes: list[list[str]] = [[]]

    def bind(self, preferred: str) -> str:
        """A free identifier for the innermost scope: ``preferred``, or that with a number."""
        stem = c_identifier(preferred)
        name, count = stem, 1
        while name in self._visible:
            count += 1
            name = f"{stem}_{count}"
        self._visible.add(name)
        self._scopes[-1].append(name)
        return name

    def push(self) -> None:
        self._scopes.append([])

    def pop(self) -> None:
        self._visible.difference_update(self._scopes.pop())
