"""Block instructions as machine code, in hexadecimal: what the assembly in ``runtime_c`` becomes.

Written by ``python -m ccml.emulation.assemble``: by name, then by the architectures that share the code,
as ABIs name them (``Abi.machine_code``). Code is independent of its address, which is a multiple of 4, and calls
nothing.
"""

MACHINE_CODE: dict[str, dict[tuple[str, ...], str]] = {
    "im2col_x2": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "043a21db50f8043b2ffa83fc2ffa93f3e1e804c350f8043b2ffa83fc2ffa93f3e1e804c350f8043b2ffa83fc2ffa93f3"
            "e1e804c350f8043b2ffa83fc2ffa93f3e1e804c3043addda043209d050f8043b2ffa83fc2ffa93f3e1e804c3013af5d1"
            "704700bf"
        ),
    },
    "gemm_3x2_i8": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04f90b0dde919451b9e40f20007c4f64037b846a7eb0606cde90078cde90278cde9047806960891cde90a2301eb"
            "04160c96a4f1010606f0070606f101064ff058080ff2163706fb187747f001070997a4f1010606f0030606f101064ff0"
            "20080ff2444706fb187747f001070d974ff00307b5fbf7f606fb175706eb460802eb0808cde90e87002e00f0c281b0e8"
            "500125463746c146dde9081a5047b1e80c5050f804ab2ffa8afb2ffa9afa2bfb02442bfb0c552afb03442afb0e5550f8"
            "04ab2ffa8afb2ffa9afa2bfb02662bfb0c772afb03662afb0e7750f804ab2ffa8afb2ffa9afa2bfb02882bfb0c992afb"
            "03882afb0e99b1e80c5050f804ab2ffa8afb2ffa9afa2bfb02442bfb0c552afb03442afb0e5550f804ab2ffa8afb2ffa"
            "9afa2bfb02662bfb0c772afb03662afb0e7750f804ab2ffa8afb2ffa9afa2bfb02882bfb0c992afb03882afb0e99b1e8"
            "0c5050f804ab2ffa8afb2ffa9afa2bfb02442bfb0c552afb03442afb0e5550f804ab2ffa8afb2ffa9afa2bfb02662bfb"
            "0c772afb03662afb0e7750f804ab2ffa8afb2ffa9afa2bfb02882bfb0c992afb03882afb0e99b1e80c5050f804ab2ffa"
            "8afb2ffa9afa2bfb02442bfb0c552afb03442afb0e5550f804ab2ffa8afb2ffa9afa2bfb02662bfb0c772afb03662afb"
            "0e7750f804ab2ffa8afb2ffa9afa2bfb02882bfb0c992afb03882afb0e99b1e80c5050f804ab2ffa8afb2ffa9afa2bfb"
            "02442bfb0c552afb03442afb0e5550f804ab2ffa8afb2ffa9afa2bfb02662bfb0c772afb03662afb0e7750f804ab2ffa"
            "8afb2ffa9afa2bfb02882bfb0c992afb03882afb0e99b1e80c5050f804ab2ffa8afb2ffa9afa2bfb02442bfb0c552afb"
            "03442afb0e5550f804ab2ffa8afb2ffa9afa2bfb02662bfb0c772afb03662afb0e7750f804ab2ffa8afb2ffa9afa2bfb"
            "02882bfb0c992afb03882afb0e99b1e80c5050f804ab2ffa8afb2ffa9afa2bfb02442bfb0c552afb03442afb0e5550f8"
            "04ab2ffa8afb2ffa9afa2bfb02662bfb0c772afb03662afb0e7750f804ab2ffa8afb2ffa9afa2bfb02882bfb0c992afb"
            "03882afb0e99b1e80c5050f804ab2ffa8afb2ffa9afa2bfb02442bfb0c552afb03442afb0e5550f804ab2ffa8afb2ffa"
            "9afa2bfb02662bfb0c772afb03662afb0e7750f804ab2ffa8afb2ffa9afa2bfb02882bfb0c992afb03882afb0e99ddf8"
            "30a051457ff49baedde90aab9dec060ab0ec033a45ec154a47ec166a49ec178ab8eec55a05ee030af8eee55a45ee830a"
            "b8eec66a06ee231af8eee66a46eea31ab8eec77a07ee042af8eee77a47ee842a069a55ec104a57ec116a59ec128aa4eb"
            "020404f307040af8014ba6eb020606f307060af8016ba8eb020808f307080af8018ba5eb020505f307050bf8015ba7eb"
            "020707f307070bf8017ba9eb020909f307090bf8019bcde90aab0e9a92457ff43eae0f9a002a00f06f8050f8044b2546"
            "0899dde90c6a5047b1e80c5050f804ab2ffa8afb2ffa9afa2bfb02442bfb0c552afb03442afb0e55b1e80c5050f804ab"
            "2ffa8afb2ffa9afa2bfb02442bfb0c552afb03442afb0e55b1e80c5050f804ab2ffa8afb2ffa9afa2bfb02442bfb0c55"
            "2afb03442afb0e55b1e80c5050f804ab2ffa8afb2ffa9afa2bfb02442bfb0c552afb03442afb0e55b142bdd1dde90aab"
            "9dec020ab0ec013a45ec154ab8eec55a05ee030af8eee55a45ee830a069a55ec104aa4eb020404f307040af8014ba5eb"
            "020505f307050bf8015bcde90aab0f9a013a0f927ff491af10b0bde8f08f00bf"
        ),
    },
    "gemm_3x2_rounded": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04f90b0dde9194501eb0416d6e90089cde900890891cde90a2301eb04160c96a4f1010606f0070606f101064ff0"
            "58080ff2283706fb187747f001070997a4f1010606f0030606f101064ff020080ff20c4706fb187747f001070d974ff0"
            "0307b5fbf7f606fb175706eb460802eb0808cde90e87002e00f0a381b0e85001dde9002304eb0305144406eb03071644"
            "08eb03099044dde9081a5047b1e80c5050f804ab2ffa8afb2ffa9afa2bfb02442bfb0c552afb03442afb0e5550f804ab"
            "2ffa8afb2ffa9afa2bfb02662bfb0c772afb03662afb0e7750f804ab2ffa8afb2ffa9afa2bfb02882bfb0c992afb0388"
            "2afb0e99b1e80c5050f804ab2ffa8afb2ffa9afa2bfb02442bfb0c552afb03442afb0e5550f804ab2ffa8afb2ffa9afa"
            "2bfb02662bfb0c772afb03662afb0e7750f804ab2ffa8afb2ffa9afa2bfb02882bfb0c992afb03882afb0e99b1e80c50"
            "50f804ab2ffa8afb2ffa9afa2bfb02442bfb0c552afb03442afb0e5550f804ab2ffa8afb2ffa9afa2bfb02662bfb0c77"
            "2afb03662afb0e7750f804ab2ffa8afb2ffa9afa2bfb02882bfb0c992afb03882afb0e99b1e80c5050f804ab2ffa8afb"
            "2ffa9afa2bfb02442bfb0c552afb03442afb0e5550f804ab2ffa8afb2ffa9afa2bfb02662bfb0c772afb03662afb0e77"
            "50f804ab2ffa8afb2ffa9afa2bfb02882bfb0c992afb03882afb0e99b1e80c5050f804ab2ffa8afb2ffa9afa2bfb0244"
            "2bfb0c552afb03442afb0e5550f804ab2ffa8afb2ffa9afa2bfb02662bfb0c772afb03662afb0e7750f804ab2ffa8afb"
            "2ffa9afa2bfb02882bfb0c992afb03882afb0e99b1e80c5050f804ab2ffa8afb2ffa9afa2bfb02442bfb0c552afb0344"
            "2afb0e5550f804ab2ffa8afb2ffa9afa2bfb02662bfb0c772afb03662afb0e7750f804ab2ffa8afb2ffa9afa2bfb0288"
            "2bfb0c992afb03882afb0e99b1e80c5050f804ab2ffa8afb2ffa9afa2bfb02442bfb0c552afb03442afb0e5550f804ab"
            "2ffa8afb2ffa9afa2bfb02662bfb0c772afb03662afb0e7750f804ab2ffa8afb2ffa9afa2bfb02882bfb0c992afb0388"
            "2afb0e99b1e80c5050f804ab2ffa8afb2ffa9afa2bfb02442bfb0c552afb03442afb0e5550f804ab2ffa8afb2ffa9afa"
            "2bfb02662bfb0c772afb03662afb0e7750f804ab2ffa8afb2ffa9afa2bfb02882bfb0c992afb03882afb0e99ddf830a0"
            "51457ff49baedde90aabdde91b2354fb123455fb123504f3070405f307050af8014b0bf8015b56fb123657fb123706f3"
            "070607f307070af8016b0bf8017b58fb123859fb123908f3070809f307090af8018b0bf8019bcde90aab0e9a92457ff4"
            "5dae0f9a002a00f0648050f8044bdde9002304eb030514440899dde90c6a5047b1e80c5050f804ab2ffa8afb2ffa9afa"
            "2bfb02442bfb0c552afb03442afb0e55b1e80c5050f804ab2ffa8afb2ffa9afa2bfb02442bfb0c552afb03442afb0e55"
            "b1e80c5050f804ab2ffa8afb2ffa9afa2bfb02442bfb0c552afb03442afb0e55b1e80c5050f804ab2ffa8afb2ffa9afa"
            "2bfb02442bfb0c552afb03442afb0e55b142bdd1dde90aabdde91b2354fb123455fb123504f3070405f307050af8014b"
            "0bf8015bcde90aab0f9a013a0f927ff49caf10b0bde8f08f"
        ),
    },
    "gemm_3x2_s16_rounded": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04f90b0dde919450891cde90a2301eb04160c96a4f1010606f0070606f101064ff040080ff2582706fb187747f0"
            "01070997a4f1010606f0030606f101064ff018080ff2143706fb187747f001070d974ff00307b5fbf7f606fb175706eb"
            "460802eb0808cde90e87002e00f03b81b0e8500125463746c146dde9081a5047b1e80c50f0e802ab2afb02442afb0c55"
            "2bfb03442bfb0e55f0e802ab2afb02662afb0c772bfb03662bfb0e77f0e802ab2afb02882afb0c992bfb03882bfb0e99"
            "b1e80c50f0e802ab2afb02442afb0c552bfb03442bfb0e55f0e802ab2afb02662afb0c772bfb03662bfb0e77f0e802ab"
            "2afb02882afb0c992bfb03882bfb0e99b1e80c50f0e802ab2afb02442afb0c552bfb03442bfb0e55f0e802ab2afb0266"
            "2afb0c772bfb03662bfb0e77f0e802ab2afb02882afb0c992bfb03882bfb0e99b1e80c50f0e802ab2afb02442afb0c55"
            "2bfb03442bfb0e55f0e802ab2afb02662afb0c772bfb03662bfb0e77f0e802ab2afb02882afb0c992bfb03882bfb0e99"
            "b1e80c50f0e802ab2afb02442afb0c552bfb03442bfb0e55f0e802ab2afb02662afb0c772bfb03662bfb0e77f0e802ab"
            "2afb02882afb0c992bfb03882bfb0e99b1e80c50f0e802ab2afb02442afb0c552bfb03442bfb0e55f0e802ab2afb0266"
            "2afb0c772bfb03662bfb0e77f0e802ab2afb02882afb0c992bfb03882bfb0e99b1e80c50f0e802ab2afb02442afb0c55"
            "2bfb03442bfb0e55f0e802ab2afb02662afb0c772bfb03662bfb0e77f0e802ab2afb02882afb0c992bfb03882bfb0e99"
            "b1e80c50f0e802ab2afb02442afb0c552bfb03442bfb0e55f0e802ab2afb02662afb0c772bfb03662bfb0e77f0e802ab"
            "2afb02882afb0c992bfb03882bfb0e99ddf830a051457ff4fbaedde90aabdde91b2354fb123455fb123504f3070405f3"
            "07050af8014b0bf8015b56fb123657fb123706f3070607f307070af8016b0bf8017b58fb123859fb123908f3070809f3"
            "07090af8018b0bf8019bcde90aab0e9a92457ff4c5ae0f9a002a00f0508050f8044b25460899dde90c6a5047b1e80c50"
            "f0e802ab2afb02442afb0c552bfb03442bfb0e55b1e80c50f0e802ab2afb02442afb0c552bfb03442bfb0e55b1e80c50"
            "f0e802ab2afb02442afb0c552bfb03442bfb0e55b1e80c50f0e802ab2afb02442afb0c552bfb03442bfb0e55b142cdd1"
            "dde90aabdde91b2354fb123455fb123504f3070405f307050af8014b0bf8015bcde90aab0f9a013a0f927ff4b0af10b0"
            "bde8f08f"
        ),
    },
    "gemm_3x2_i32": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04f90b0dde919450891cde90a2301eb04160c96a4f1010606f0070606f101064ff058080ff2183706fb187747f0"
            "01070997a4f1010606f0030606f101064ff020080ff2c03706fb187747f001070d974ff00307b5fbf7f606fb175706eb"
            "460802eb8808cde90e87002e00f08181b0e8500125463746c146dde9081a5047b1e80c5050f804ab2ffa8afb2ffa9afa"
            "2bfb02442bfb0c552afb03442afb0e5550f804ab2ffa8afb2ffa9afa2bfb02662bfb0c772afb03662afb0e7750f804ab"
            "2ffa8afb2ffa9afa2bfb02882bfb0c992afb03882afb0e99b1e80c5050f804ab2ffa8afb2ffa9afa2bfb02442bfb0c55"
            "2afb03442afb0e5550f804ab2ffa8afb2ffa9afa2bfb02662bfb0c772afb03662afb0e7750f804ab2ffa8afb2ffa9afa"
            "2bfb02882bfb0c992afb03882afb0e99b1e80c5050f804ab2ffa8afb2ffa9afa2bfb02442bfb0c552afb03442afb0e55"
            "50f804ab2ffa8afb2ffa9afa2bfb02662bfb0c772afb03662afb0e7750f804ab2ffa8afb2ffa9afa2bfb02882bfb0c99"
            "2afb03882afb0e99b1e80c5050f804ab2ffa8afb2ffa9afa2bfb02442bfb0c552afb03442afb0e5550f804ab2ffa8afb"
            "2ffa9afa2bfb02662bfb0c772afb03662afb0e7750f804ab2ffa8afb2ffa9afa2bfb02882bfb0c992afb03882afb0e99"
            "b1e80c5050f804ab2ffa8afb2ffa9afa2bfb02442bfb0c552afb03442afb0e5550f804ab2ffa8afb2ffa9afa2bfb0266"
            "2bfb0c772afb03662afb0e7750f804ab2ffa8afb2ffa9afa2bfb02882bfb0c992afb03882afb0e99b1e80c5050f804ab"
            "2ffa8afb2ffa9afa2bfb02442bfb0c552afb03442afb0e5550f804ab2ffa8afb2ffa9afa2bfb02662bfb0c772afb0366"
            "2afb0e7750f804ab2ffa8afb2ffa9afa2bfb02882bfb0c992afb03882afb0e99b1e80c5050f804ab2ffa8afb2ffa9afa"
            "2bfb02442bfb0c552afb03442afb0e5550f804ab2ffa8afb2ffa9afa2bfb02662bfb0c772afb03662afb0e7750f804ab"
            "2ffa8afb2ffa9afa2bfb02882bfb0c992afb03882afb0e99b1e80c5050f804ab2ffa8afb2ffa9afa2bfb02442bfb0c55"
            "2afb03442afb0e5550f804ab2ffa8afb2ffa9afa2bfb02662bfb0c772afb03662afb0e7750f804ab2ffa8afb2ffa9afa"
            "2bfb02882bfb0c992afb03882afb0e99ddf830a051457ff49baedde90aab4af8044b4bf8045b4af8046b4bf8047b4af8"
            "048b4bf8049bcde90aab0e9a92457ff47fae0f9a002a00f0568050f8044b25460899dde90c6a5047b1e80c5050f804ab"
            "2ffa8afb2ffa9afa2bfb02442bfb0c552afb03442afb0e55b1e80c5050f804ab2ffa8afb2ffa9afa2bfb02442bfb0c55"
            "2afb03442afb0e55b1e80c5050f804ab2ffa8afb2ffa9afa2bfb02442bfb0c552afb03442afb0e55b1e80c5050f804ab"
            "2ffa8afb2ffa9afa2bfb02442bfb0c552afb03442afb0e55b142bdd1dde90aab4af8044b4bf8045bcde90aab0f9a013a"
            "0f927ff4aaaf10b0bde8f08f"
        ),
    },
    "gemm_8x1_i8": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04f8eb0189e40f20007c4f64037b846a7eb0606cde90078cde90278cde904780696179d1c46a4f1010606f00106"
            "06f101064ff0ac080ff2841706fb187747f00107cde9081701eb8406cde90a2605f00707ee08cde90c6700f02981b0e8"
            "f053dde9081a504751f8043b2ffa83f22ffa93f350f804ab2ffa8afb2ffa9afa2bfb02442afb034450f804ab2ffa8afb"
            "2ffa9afa2bfb02552afb035550f804ab2ffa8afb2ffa9afa2bfb02662afb036650f804ab2ffa8afb2ffa9afa2bfb0277"
            "2afb037750f804ab2ffa8afb2ffa9afa2bfb02882afb038850f804ab2ffa8afb2ffa9afa2bfb02992afb039950f804ab"
            "2ffa8afb2ffa9afa2bfb02cc2afb03cc50f804ab2ffa8afb2ffa9afa2bfb02ee2afb03ee51f8043b2ffa83f22ffa93f3"
            "50f804ab2ffa8afb2ffa9afa2bfb02442afb034450f804ab2ffa8afb2ffa9afa2bfb02552afb035550f804ab2ffa8afb"
            "2ffa9afa2bfb02662afb036650f804ab2ffa8afb2ffa9afa2bfb02772afb037750f804ab2ffa8afb2ffa9afa2bfb0288"
            "2afb038850f804ab2ffa8afb2ffa9afa2bfb02992afb039950f804ab2ffa8afb2ffa9afa2bfb02cc2afb03cc50f804ab"
            "2ffa8afb2ffa9afa2bfb02ee2afb03eeddf82ca051457ff44fafddf828b09dec040ab0ec042a45ec144a47ec156ab8ee"
            "c44a04ee020af8eee44a44eea20ab8eec55a05ee031af8eee55a45eea31a069a55ec104a57ec116aa4eb020404f30704"
            "0bf8014ba5eb020505f307050bf8015ba6eb020606f307060bf8016ba7eb020707f307070bf8017b9dec040ab0ec042a"
            "49ec148a4eec15cab8eec44a04ee020af8eee44a44eea20ab8eec55a05ee031af8eee55a45eea31a069a59ec108a5eec"
            "11caa8eb020808f307080bf8018ba9eb020909f307090bf8019baceb020c0cf3070c0bf801cbaeeb020e0ef3070e0bf8"
            "01eb0c9acdf828b0013a0c927ff4d7aeddf834c0bcf1000f00f02f80dde90a5650f8044b089951f8043b2ffa83f22ffa"
            "93f350f804ab2ffa8afb2ffa9afa2bfb02442afb0344b142edd1ab469dec010ab0ec012a04ee104ab8eec44a04ee020a"
            "069a10ee104aa4eb020404f307040bf8014b5d46bcf1010cd2d10eb0bde8f08f"
        ),
    },
    "gemm_8x1_i32": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04f8eb0179d1c46a4f1010606f0010606f101064ff0ac080ff2861706fb187747f00107cde9081701eb8406cde9"
            "0a2605f00707ee08cde90c6700f0cf80b0e8f053dde9081a504751f8043b2ffa83f22ffa93f350f804ab2ffa8afb2ffa"
            "9afa2bfb02442afb034450f804ab2ffa8afb2ffa9afa2bfb02552afb035550f804ab2ffa8afb2ffa9afa2bfb02662afb"
            "036650f804ab2ffa8afb2ffa9afa2bfb02772afb037750f804ab2ffa8afb2ffa9afa2bfb02882afb038850f804ab2ffa"
            "8afb2ffa9afa2bfb02992afb039950f804ab2ffa8afb2ffa9afa2bfb02cc2afb03cc50f804ab2ffa8afb2ffa9afa2bfb"
            "02ee2afb03ee51f8043b2ffa83f22ffa93f350f804ab2ffa8afb2ffa9afa2bfb02442afb034450f804ab2ffa8afb2ffa"
            "9afa2bfb02552afb035550f804ab2ffa8afb2ffa9afa2bfb02662afb036650f804ab2ffa8afb2ffa9afa2bfb02772afb"
            "037750f804ab2ffa8afb2ffa9afa2bfb02882afb038850f804ab2ffa8afb2ffa9afa2bfb02992afb039950f804ab2ffa"
            "8afb2ffa9afa2bfb02cc2afb03cc50f804ab2ffa8afb2ffa9afa2bfb02ee2afb03eeddf82ca051457ff44fafddf828b0"
            "4bf8044b4bf8045b4bf8046b4bf8047b4bf8048b4bf8049b4bf804cb4bf804eb0c9acdf828b0013a0c927ff431afddf8"
            "34c0bcf1000f00f01e80dde90a5650f8044b089951f8043b2ffa83f22ffa93f350f804ab2ffa8afb2ffa9afa2bfb0244"
            "2afb0344b142edd1ab464bf8044b5d46bcf1010ce3d10eb0bde8f08f"
        ),
    },
    "copy_run": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "70b5103a0bdb036844688568c66810300b604c608d60ce601031103af3da0c3205db50f8043b41f8043b043af9da0432"
            "05dd10f8013b01f8013b013af9dc70bd"
        ),
    },
    "im2col_x4_pixel": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "520808d350f8043b83f080133ffaa3fc0b6141f820cb9ab150f8043b83f080133ffaa3fc0b6141f820cb50f8043b83f0"
            "80133ffaa3fc0b6141f820cb013aebd1704700bf"
        ),
    },
    "im2col_x4": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "45ec104a47ec116a49ec128a00eb430404eb0305034401eb421250f8046b53f8047b54f8048b55f8049b87f080173ffa"
            "a7fc4f61c1f804c088f080183ffaa8fcc1f81880c1f808c089f080193ffaa9fcc1f81c90c1f80cc086f080163ffaa6fc"
            "0e6141f820cb9142d7d155ec104a57ec116a59ec128a7047"
        ),
    },
    "im2col_x4_rows": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "45ec104a47ec116a49ec128adde90067a7eb82074fea421806fb081648ec147a05ee106a00eb430404eb0305034401eb"
            "080250f8046b53f8047b54f8048b55f8049b87f080173ffaa7fc4f61c1f804c088f080183ffaa8fcc1f81880c1f808c0"
            "89f080193ffaa9fcc1f81c90c1f80cc086f080163ffaa6fc0e6141f820cb9142d7d158ec147a15ee106a38443b443c44"
            "3d44b142cbd155ec104a57ec116a59ec128a7047"
        ),
    },
    "im2col_x4_three": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f041dde90687a7eb82074fea421646ec102a01ee107a56ec10ea01eb060202eb060503eb4304044454f8136086f0"
            "80163ffaa6f7ee61ef60e65886f080163ffaa6f7ae61af60d661d76054f8046b86f080163ffaa6f76e616f6096619760"
            "ce61cf6050f8136086f080163ffaa6f72e6145f8207b566157608e618f60c65886f080163ffaa6f7166142f8207b4e61"
            "4f6050f8046b86f080163ffaa6f70e6141f8207bbef1010ebfd111ee106a30442946b8f10108afd1bde8f081"
        ),
    },
    "gemm_packed_2x4_i8": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04f2ded108adde9194543ec1c2a45ec1d4adde91b4502eb05081d9e40f20007c4f640370bee107aa6eb07060fee"
            "906a2de9800101eb4416b1ec080a022ca8bf36ed084aa4f10102033c04f0070404f101044ff064050ff24037bebf1446"
            "4ff05c050ff29a3704fb157747f0010747ec1e1a0fee106a00f03bbad0f804b050f808abd1f804e051f808cb4cfb1a22"
            "4efb1a334cfb1b664efb1b77f1e802ce4cfb1a444efb1a554cfb1b884efb1b992ffa8afa2ffa8bfbf1e802ce4cfb0a22"
            "4efb0a334cfb0b664efb0b77f1e802ce4cfb0a444efb0a554cfb0b884efb0b99d0f804b050f808abd1f804e051f808cb"
            "4cfb1a224efb1a334cfb1b664efb1b77f1e802ce4cfb1a444efb1a554cfb1b884efb1b992ffa8afa2ffa8bfbf1e802ce"
            "4cfb0a224efb0a334cfb0b664efb0b77f1e802ce4cfb0a444efb0a554cfb0b884efb0b99d0f804b050f808abd1f804e0"
            "51f808cb4cfb1a224efb1a334cfb1b664efb1b77f1e802ce4cfb1a444efb1a554cfb1b884efb1b992ffa8afa2ffa8bfb"
            "f1e802ce4cfb0a224efb0a334cfb0b664efb0b77f1e802ce4cfb0a444efb0a554cfb0b884efb0b99d0f804b050f808ab"
            "d1f804e051f808cb4cfb1a224efb1a334cfb1b664efb1b77f1e802ce4cfb1a444efb1a554cfb1b884efb1b992ffa8afa"
            "2ffa8bfbf1e802ce4cfb0a224efb0a334cfb0b664efb0b77f1e802ce4cfb0a444efb0a554cfb0b884efb0b99d0f804b0"
            "50f808abd1f804e051f808cb4cfb1a224efb1a334cfb1b664efb1b77f1e802ce4cfb1a444efb1a554cfb1b884efb1b99"
            "2ffa8afa2ffa8bfbf1e802ce4cfb0a224efb0a334cfb0b664efb0b77f1e802ce4cfb0a444efb0a554cfb0b884efb0b99"
            "d0f804b050f808abd1f804e051f808cb4cfb1a224efb1a334cfb1b664efb1b77f1e802ce4cfb1a444efb1a554cfb1b88"
            "4efb1b992ffa8afa2ffa8bfbf1e802ce4cfb0a224efb0a334cfb0b664efb0b77f1e802ce4cfb0a444efb0a554cfb0b88"
            "4efb0b99d0f804b050f808abd1f804e051f808cb4cfb1a224efb1a334cfb1b664efb1b77f1e802ce4cfb1a444efb1a55"
            "4cfb1b884efb1b992ffa8afa2ffa8bfbf1e802ce4cfb0a224efb0a334cfb0b664efb0b77f1e802ce4cfb0a444efb0a55"
            "4cfb0b884efb0b99d0f804b050f808abd1f804e051f808cb4cfb1a224efb1a334cfb1b664efb1b77f1e802ce4cfb1a44"
            "4efb1a554cfb1b884efb1b992ffa8afa2ffa8bfbf1e802ce4cfb0a224efb0a334cfb0b664efb0b77f1e802ce4cfb0a44"
            "4efb0a554cfb0b884efb0b991fee10aa51457ff46baef0e802ab5eec14ca4cfb1a224efb1a334cfb1b664efb1b775eec"
            "15ca4cfb1a444efb1a554cfb1b884efb1b992ffa8afa2ffa8bfb5eec16ca4cfb0a224efb0a334cfb0b664efb0b775eec"
            "17ca4cfb0a444efb0a554cfb0b884efb0b99b0ec02aa1fee901a43ec182a45ec194ab8eec88a28ee0a8a38ee0b8af8ee"
            "e88a68ee8a8a78ee8b8ab8eec99a29ee0a9a39ee0b9af8eee99a69ee8a9a79ee8b9a53ec182a55ec194a0a4402f30702"
            "0b4403f307030c4404f307040d4405f3070547ec186a49ec198ab8eec88a28ee2a8a38ee0b8af8eee88a68eeaa8a78ee"
            "8b8ab8eec99a29ee2a9a39ee0b9af8eee99a69eeaa9a79ee8b9a57ec186a59ec198a0e4406f307060f4407f307078844"
            "08f30708894409f307095bec1caa5eec1dca66f30f222af8022b67f30f232bf8023b68f30f242cf8024b69f30f252ef8"
            "025b01994bec1caa4eec1dca8a4500f03180b0e8200e5eec10ca4cfb1a524efb1a534cfb1b964efb1b975eec11ca4cfb"
            "1a544efb1a554cfb1b984efb1b992ffa8afa2ffa8bfb5eec12ca4cfb0a224efb0a334cfb0b664efb0b775eec13ca4cfb"
            "0a444efb0a554cfb0b884efb0b995aec1e1a504702b0bdec108abde8f08f00bf"
        ),
    },
    "gemm_packed_2x4_i32": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04f2ded108adde9194543ec1c2a45ec1d4adde91b4502eb85080fee906a2de9800101eb4416b1ec080a022ca8bf"
            "36ed088ac8bf36ed084aa4f10102043c04f0070404f101044ff064050ff24037bebf14464ff05c050ff2f63704fb1577"
            "47f0010747ec1e1a0fee106a00f01dbad0f804b050f808abd1f804e051f808cb4cfb1a224efb1a334cfb1b664efb1b77"
            "f1e802ce4cfb1a444efb1a554cfb1b884efb1b992ffa8afa2ffa8bfbf1e802ce4cfb0a224efb0a334cfb0b664efb0b77"
            "f1e802ce4cfb0a444efb0a554cfb0b884efb0b99d0f804b050f808abd1f804e051f808cb4cfb1a224efb1a334cfb1b66"
            "4efb1b77f1e802ce4cfb1a444efb1a554cfb1b884efb1b992ffa8afa2ffa8bfbf1e802ce4cfb0a224efb0a334cfb0b66"
            "4efb0b77f1e802ce4cfb0a444efb0a554cfb0b884efb0b99d0f804b050f808abd1f804e051f808cb4cfb1a224efb1a33"
            "4cfb1b664efb1b77f1e802ce4cfb1a444efb1a554cfb1b884efb1b992ffa8afa2ffa8bfbf1e802ce4cfb0a224efb0a33"
            "4cfb0b664efb0b77f1e802ce4cfb0a444efb0a554cfb0b884efb0b99d0f804b050f808abd1f804e051f808cb4cfb1a22"
            "4efb1a334cfb1b664efb1b77f1e802ce4cfb1a444efb1a554cfb1b884efb1b992ffa8afa2ffa8bfbf1e802ce4cfb0a22"
            "4efb0a334cfb0b664efb0b77f1e802ce4cfb0a444efb0a554cfb0b884efb0b99d0f804b050f808abd1f804e051f808cb"
            "4cfb1a224efb1a334cfb1b664efb1b77f1e802ce4cfb1a444efb1a554cfb1b884efb1b992ffa8afa2ffa8bfbf1e802ce"
            "4cfb0a224efb0a334cfb0b664efb0b77f1e802ce4cfb0a444efb0a554cfb0b884efb0b99d0f804b050f808abd1f804e0"
            "51f808cb4cfb1a224efb1a334cfb1b664efb1b77f1e802ce4cfb1a444efb1a554cfb1b884efb1b992ffa8afa2ffa8bfb"
            "f1e802ce4cfb0a224efb0a334cfb0b664efb0b77f1e802ce4cfb0a444efb0a554cfb0b884efb0b99d0f804b050f808ab"
            "d1f804e051f808cb4cfb1a224efb1a334cfb1b664efb1b77f1e802ce4cfb1a444efb1a554cfb1b884efb1b992ffa8afa"
            "2ffa8bfbf1e802ce4cfb0a224efb0a334cfb0b664efb0b77f1e802ce4cfb0a444efb0a554cfb0b884efb0b99d0f804b0"
            "50f808abd1f804e051f808cb4cfb1a224efb1a334cfb1b664efb1b77f1e802ce4cfb1a444efb1a554cfb1b884efb1b99"
            "2ffa8afa2ffa8bfbf1e802ce4cfb0a224efb0a334cfb0b664efb0b77f1e802ce4cfb0a444efb0a554cfb0b884efb0b99"
            "1fee10aa51457ff46baef0e802ab5eec14ca4cfb1a224efb1a334cfb1b664efb1b775eec15ca4cfb1a444efb1a554cfb"
            "1b884efb1b992ffa8afa2ffa8bfb5eec16ca4cfb0a224efb0a334cfb0b664efb0b775eec17ca4cfb0a444efb0a554cfb"
            "0b884efb0b99f0e802ab5eec18ca4cfb1a224efb1a334cfb1b664efb1b775eec19ca4cfb1a444efb1a554cfb1b884efb"
            "1b992ffa8afa2ffa8bfb5eec1aca4cfb0a224efb0a334cfb0b664efb0b775eec1bca4cfb0a444efb0a554cfb0b884efb"
            "0b995bec1caa5eec1dca4fea22224fea26264af8042b4af8046b4fea23234fea27274bf8043b4bf8047b4fea24244fea"
            "28284cf8044b4cf8048b4fea25254fea29294ef8045b4ef8049b01994bec1caa4eec1dca8a4500f03180b0e8200e5eec"
            "10ca4cfb1a524efb1a534cfb1b964efb1b975eec11ca4cfb1a544efb1a554cfb1b984efb1b992ffa8afa2ffa8bfb5eec"
            "12ca4cfb0a224efb0a334cfb0b664efb0b775eec13ca4cfb0a444efb0a554cfb0b884efb0b995aec1e1a504702b0bdec"
            "108abde8f08f00bf"
        ),
    },
    "gemm_packed_2x4_fixed": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04f2ded108adde9194543ec1c2a45ec1d4adde91b4502eb0508dde91d674ff0010906fa07f609fa07f906eb5906"
            "0fee906a2de9800101eb4416b1ec080a022ca8bf36ed088ac8bf36ed084aa4f10102043c04f0070404f101044ff06405"
            "0ff24037bebf14464ff05c050ff2f63704fb157747f0010747ec1e1a0fee106a00f043bad0f804b050f808abd1f804e0"
            "51f808cb4cfb1a224efb1a334cfb1b664efb1b77f1e802ce4cfb1a444efb1a554cfb1b884efb1b992ffa8afa2ffa8bfb"
            "f1e802ce4cfb0a224efb0a334cfb0b664efb0b77f1e802ce4cfb0a444efb0a554cfb0b884efb0b99d0f804b050f808ab"
            "d1f804e051f808cb4cfb1a224efb1a334cfb1b664efb1b77f1e802ce4cfb1a444efb1a554cfb1b884efb1b992ffa8afa"
            "2ffa8bfbf1e802ce4cfb0a224efb0a334cfb0b664efb0b77f1e802ce4cfb0a444efb0a554cfb0b884efb0b99d0f804b0"
            "50f808abd1f804e051f808cb4cfb1a224efb1a334cfb1b664efb1b77f1e802ce4cfb1a444efb1a554cfb1b884efb1b99"
            "2ffa8afa2ffa8bfbf1e802ce4cfb0a224efb0a334cfb0b664efb0b77f1e802ce4cfb0a444efb0a554cfb0b884efb0b99"
            "d0f804b050f808abd1f804e051f808cb4cfb1a224efb1a334cfb1b664efb1b77f1e802ce4cfb1a444efb1a554cfb1b88"
            "4efb1b992ffa8afa2ffa8bfbf1e802ce4cfb0a224efb0a334cfb0b664efb0b77f1e802ce4cfb0a444efb0a554cfb0b88"
            "4efb0b99d0f804b050f808abd1f804e051f808cb4cfb1a224efb1a334cfb1b664efb1b77f1e802ce4cfb1a444efb1a55"
            "4cfb1b884efb1b992ffa8afa2ffa8bfbf1e802ce4cfb0a224efb0a334cfb0b664efb0b77f1e802ce4cfb0a444efb0a55"
            "4cfb0b884efb0b99d0f804b050f808abd1f804e051f808cb4cfb1a224efb1a334cfb1b664efb1b77f1e802ce4cfb1a44"
            "4efb1a554cfb1b884efb1b992ffa8afa2ffa8bfbf1e802ce4cfb0a224efb0a334cfb0b664efb0b77f1e802ce4cfb0a44"
            "4efb0a554cfb0b884efb0b99d0f804b050f808abd1f804e051f808cb4cfb1a224efb1a334cfb1b664efb1b77f1e802ce"
            "4cfb1a444efb1a554cfb1b884efb1b992ffa8afa2ffa8bfbf1e802ce4cfb0a224efb0a334cfb0b664efb0b77f1e802ce"
            "4cfb0a444efb0a554cfb0b884efb0b99d0f804b050f808abd1f804e051f808cb4cfb1a224efb1a334cfb1b664efb1b77"
            "f1e802ce4cfb1a444efb1a554cfb1b884efb1b992ffa8afa2ffa8bfbf1e802ce4cfb0a224efb0a334cfb0b664efb0b77"
            "f1e802ce4cfb0a444efb0a554cfb0b884efb0b991fee10aa51457ff46baef0e802ab5eec14ca4cfb1a224efb1a334cfb"
            "1b664efb1b775eec15ca4cfb1a444efb1a554cfb1b884efb1b992ffa8afa2ffa8bfb5eec16ca4cfb0a224efb0a334cfb"
            "0b664efb0b775eec17ca4cfb0a444efb0a554cfb0b884efb0b99f0e802ab5eec18ca4cfb1a224efb1a334cfb1b664efb"
            "1b775eec19ca4cfb1a444efb1a554cfb1b884efb1b992ffa8afa2ffa8bfb5eec1aca4cfb0a224efb0a334cfb0b664efb"
            "0b775eec1bca4cfb0a444efb0a554cfb0b884efb0b99ddf800c0f0e802ab1fee901a52fb0a1253fb0a1354fb0a1455fb"
            "0a1542fa0cf202f3070243fa0cf303f3070344fa0cf404f3070445fa0cf505f3070556fb0b1657fb0b1758fb0b1859fb"
            "0b1946fa0cf606f3070647fa0cf707f3070748fa0cf808f3070849fa0cf909f307095bec1caa5eec1dca66f30f222af8"
            "022b67f30f232bf8023b68f30f242cf8024b69f30f252ef8025b01994bec1caa4eec1dca8a4500f03180b0e8200e5eec"
            "10ca4cfb1a524efb1a534cfb1b964efb1b975eec11ca4cfb1a544efb1a554cfb1b984efb1b992ffa8afa2ffa8bfb5eec"
            "12ca4cfb0a224efb0a334cfb0b664efb0b775eec13ca4cfb0a444efb0a554cfb0b884efb0b995aec1e1a504702b0bdec"
            "108abde8f08f00bf"
        ),
    },
    "gemm_packed_2x4_fixed12": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04f2ded108adde9194543ec1c2a45ec1d4adde91b4502eb05081d9e4fea063606f500660fee906a2de9800101eb"
            "4416b1ec080a022ca8bf36ed088ac8bf36ed084aa4f10102043c04f0070404f101044ff064050ff24437bebf14464ff0"
            "5c050ff2fa3704fb157747f0010747ec1e1a0fee106a00f032ba00bfd0f804b050f808abd1f804e051f808cb4cfb1a22"
            "4efb1a334cfb1b664efb1b77f1e802ce4cfb1a444efb1a554cfb1b884efb1b992ffa8afa2ffa8bfbf1e802ce4cfb0a22"
            "4efb0a334cfb0b664efb0b77f1e802ce4cfb0a444efb0a554cfb0b884efb0b99d0f804b050f808abd1f804e051f808cb"
            "4cfb1a224efb1a334cfb1b664efb1b77f1e802ce4cfb1a444efb1a554cfb1b884efb1b992ffa8afa2ffa8bfbf1e802ce"
            "4cfb0a224efb0a334cfb0b664efb0b77f1e802ce4cfb0a444efb0a554cfb0b884efb0b99d0f804b050f808abd1f804e0"
            "51f808cb4cfb1a224efb1a334cfb1b664efb1b77f1e802ce4cfb1a444efb1a554cfb1b884efb1b992ffa8afa2ffa8bfb"
            "f1e802ce4cfb0a224efb0a334cfb0b664efb0b77f1e802ce4cfb0a444efb0a554cfb0b884efb0b99d0f804b050f808ab"
            "d1f804e051f808cb4cfb1a224efb1a334cfb1b664efb1b77f1e802ce4cfb1a444efb1a554cfb1b884efb1b992ffa8afa"
            "2ffa8bfbf1e802ce4cfb0a224efb0a334cfb0b664efb0b77f1e802ce4cfb0a444efb0a554cfb0b884efb0b99d0f804b0"
            "50f808abd1f804e051f808cb4cfb1a224efb1a334cfb1b664efb1b77f1e802ce4cfb1a444efb1a554cfb1b884efb1b99"
            "2ffa8afa2ffa8bfbf1e802ce4cfb0a224efb0a334cfb0b664efb0b77f1e802ce4cfb0a444efb0a554cfb0b884efb0b99"
            "d0f804b050f808abd1f804e051f808cb4cfb1a224efb1a334cfb1b664efb1b77f1e802ce4cfb1a444efb1a554cfb1b88"
            "4efb1b992ffa8afa2ffa8bfbf1e802ce4cfb0a224efb0a334cfb0b664efb0b77f1e802ce4cfb0a444efb0a554cfb0b88"
            "4efb0b99d0f804b050f808abd1f804e051f808cb4cfb1a224efb1a334cfb1b664efb1b77f1e802ce4cfb1a444efb1a55"
            "4cfb1b884efb1b992ffa8afa2ffa8bfbf1e802ce4cfb0a224efb0a334cfb0b664efb0b77f1e802ce4cfb0a444efb0a55"
            "4cfb0b884efb0b99d0f804b050f808abd1f804e051f808cb4cfb1a224efb1a334cfb1b664efb1b77f1e802ce4cfb1a44"
            "4efb1a554cfb1b884efb1b992ffa8afa2ffa8bfbf1e802ce4cfb0a224efb0a334cfb0b664efb0b77f1e802ce4cfb0a44"
            "4efb0a554cfb0b884efb0b991fee10aa51457ff46baef0e802ab5eec14ca4cfb1a224efb1a334cfb1b664efb1b775eec"
            "15ca4cfb1a444efb1a554cfb1b884efb1b992ffa8afa2ffa8bfb5eec16ca4cfb0a224efb0a334cfb0b664efb0b775eec"
            "17ca4cfb0a444efb0a554cfb0b884efb0b99f0e802ab5eec18ca4cfb1a224efb1a334cfb1b664efb1b775eec19ca4cfb"
            "1a444efb1a554cfb1b884efb1b992ffa8afa2ffa8bfb5eec1aca4cfb0a224efb0a334cfb0b664efb0b775eec1bca4cfb"
            "0a444efb0a554cfb0b884efb0b99f0e802ab1fee901a52fb0a1253fb0a1354fb0a1455fb0a1522f3073223f3073324f3"
            "073425f3073556fb0b1657fb0b1758fb0b1859fb0b1926f3073627f3073728f3073829f307395bec1caa5eec1dca66f3"
            "0f222af8022b67f30f232bf8023b68f30f242cf8024b69f30f252ef8025b01994bec1caa4eec1dca8a4500f03180b0e8"
            "200e5eec10ca4cfb1a524efb1a534cfb1b964efb1b975eec11ca4cfb1a544efb1a554cfb1b984efb1b992ffa8afa2ffa"
            "8bfb5eec12ca4cfb0a224efb0a334cfb0b664efb0b775eec13ca4cfb0a444efb0a554cfb0b884efb0b995aec1e1a5047"
            "02b0bdec108abde8f08f00bf"
        ),
    },
    "gemm_packed_2x1_fixed": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04f099d944602eb050501eb43140e46b246dde90a674ff0010906fa07f609fa07f906eb5906b0465646f0e80223"
            "3146a4eb060e1ef0200f13d1d1f810e0d0f804b050f808ab51f8209b49fb1a2249fb1b332ffa8afa2ffa8bfb4efb0a22"
            "4efb0b33d1f810e0d0f804b050f808ab51f8209b49fb1a2249fb1b332ffa8afa2ffa8bfb4efb0a224efb0b33a142d5d1"
            "f0e802ab52fb0a8253fb0b8342fa07f243fa07f302f3070203f3070363f30f222cf8022bac45b9d1bde8f08f"
        ),
    },
    "gemm_packed_2x1_i8": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04f099d944602eb050501eb43140e4640f20007c4f6403705ee107addf82880a7eb0807f0e802233146a4eb060e"
            "1ef0200f13d1d1f810e0d0f804b050f808ab51f8209b49fb1a2249fb1b332ffa8afa2ffa8bfb4efb0a224efb0b33d1f8"
            "10e0d0f804b050f808ab51f8209b49fb1a2249fb1b332ffa8afa2ffa8bfb4efb0a224efb0b33a142d5d1b0ec024a43ec"
            "102ab8eec00a20ee040a30ee050af8eee00a60eea40a70ee850a53ec102aa2eb070202f307020cf8012ba3eb070303f3"
            "07030cf8013bac45add1bde8f08f00bf"
        ),
    },
    "gemm_packed_2x1_i32": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04f099d944602eb850501eb43140e46f0e802233146a4eb060e1ef0200f13d1d1f810e0d0f804b050f808ab51f8"
            "209b49fb1a2249fb1b332ffa8afa2ffa8bfb4efb0a224efb0b33d1f810e0d0f804b050f808ab51f8209b49fb1a2249fb"
            "1b332ffa8afa2ffa8bfb4efb0a224efb0b33a142d5d14fea22224fea2323ece80223ac45c5d1bde8f08f00bf"
        ),
    },
    "gemm_packed_4x1_i32": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04c079d02eb850545ec322a01eb830402ee104aa3f101034ff00506b3fbf6f505fb163303f101030ff284174fea"
            "5304a3eb04034ff0400503fb15774ff04c0504fb157747f0010747ec111af0c85aec111a504700bf51f8043bb0e8005c"
            "83f080133ffaa3f242fb1a4442fb1b5542fb1c6642fb1e772ffa8afa2ffa8bfb2ffa8cfc2ffa8efe43fb0a4443fb0b55"
            "43fb0c6643fb0e7751f8043bd0f804b0d0f808c0d0f80ce050f810ab83f080133ffaa3f242fb1a4442fb1b5542fb1c66"
            "42fb1e772ffa8afa2ffa8bfb2ffa8cfc2ffa8efe43fb0a4443fb0b5543fb0c6643fb0e7751f8043bb0e8005c83f08013"
            "3ffaa3f242fb1a4442fb1b5542fb1c6642fb1e772ffa8afa2ffa8bfb2ffa8cfc2ffa8efe43fb0a4443fb0b5543fb0c66"
            "43fb0e7751f8043bd0f804b0d0f808c0d0f80ce050f810ab83f080133ffaa3f242fb1a4442fb1b5542fb1c6642fb1e77"
            "2ffa8afa2ffa8bfb2ffa8cfc2ffa8efe43fb0a4443fb0b5543fb0c6643fb0e7751f8043bb0e8005c83f080133ffaa3f2"
            "42fb1a4442fb1b5542fb1c6642fb1e772ffa8afa2ffa8bfb2ffa8cfc2ffa8efe43fb0a4443fb0b5543fb0c6643fb0e77"
            "12ee10aa51457ff44faf53ec322a4fea24244fea25254fea26264fea2727f0c202ee902a9a427ff43aafbde8f08c00bf"
        ),
    },
    "gemm_packed_4x1_fixed": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04c079ddde908674ff0010a06f1800606fa07f60afa07fa06eb5a0647ec106a154445ec322a01eb830402ee104a"
            "a3f101034ff00506b3fbf6f505fb163303f101030ff280174fea5304a3eb04034ff0400503fb15774ff04c0504fb1577"
            "47f0010747ec111af0c85aec111a504751f8043bb0e8005c83f080133ffaa3f242fb1a4442fb1b5542fb1c6642fb1e77"
            "2ffa8afa2ffa8bfb2ffa8cfc2ffa8efe43fb0a4443fb0b5543fb0c6643fb0e7751f8043bd0f804b0d0f808c0d0f80ce0"
            "50f810ab83f080133ffaa3f242fb1a4442fb1b5542fb1c6642fb1e772ffa8afa2ffa8bfb2ffa8cfc2ffa8efe43fb0a44"
            "43fb0b5543fb0c6643fb0e7751f8043bb0e8005c83f080133ffaa3f242fb1a4442fb1b5542fb1c6642fb1e772ffa8afa"
            "2ffa8bfb2ffa8cfc2ffa8efe43fb0a4443fb0b5543fb0c6643fb0e7751f8043bd0f804b0d0f808c0d0f80ce050f810ab"
            "83f080133ffaa3f242fb1a4442fb1b5542fb1c6642fb1e772ffa8afa2ffa8bfb2ffa8cfc2ffa8efe43fb0a4443fb0b55"
            "43fb0c6643fb0e7751f8043bb0e8005c83f080133ffaa3f242fb1a4442fb1b5542fb1c6642fb1e772ffa8afa2ffa8bfb"
            "2ffa8cfc2ffa8efe43fb0a4443fb0b5543fb0c6643fb0e7712ee10aa51457ff44faf53ec102af0e802ab54fb0a2455fb"
            "0b25f0e802ab56fb0a2657fb0b2744fa03f445fa03f546fa03f647fa03f7c4ea0644c5ea0745a4f30804a5f3080544ea"
            "052484f0803453ec322a42f8044b02ee902a9a427ff420afbde8f08c"
        ),
    },
    "gemm_packed_4x1_halfword": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04c079ddde908674ff0010a06f1800606fa07f60afa07fa06eb5a0647ec106a154445ec322a01eb830402ee104a"
            "a3f101034ff00506b3fbf6f505fb163303f101030ff280174fea5304a3eb04034ff0400503fb15774ff04c0504fb1577"
            "47f0010747ec111af0c85aec111a504751f8043bb0e8005c83f080133ffaa3f242fb1a4442fb1b5542fb1c6642fb1e77"
            "2ffa8afa2ffa8bfb2ffa8cfc2ffa8efe43fb0a4443fb0b5543fb0c6643fb0e7751f8043bd0f804b0d0f808c0d0f80ce0"
            "50f810ab83f080133ffaa3f242fb1a4442fb1b5542fb1c6642fb1e772ffa8afa2ffa8bfb2ffa8cfc2ffa8efe43fb0a44"
            "43fb0b5543fb0c6643fb0e7751f8043bb0e8005c83f080133ffaa3f242fb1a4442fb1b5542fb1c6642fb1e772ffa8afa"
            "2ffa8bfb2ffa8cfc2ffa8efe43fb0a4443fb0b5543fb0c6643fb0e7751f8043bd0f804b0d0f808c0d0f80ce050f810ab"
            "83f080133ffaa3f242fb1a4442fb1b5542fb1c6642fb1e772ffa8afa2ffa8bfb2ffa8cfc2ffa8efe43fb0a4443fb0b55"
            "43fb0c6643fb0e7751f8043bb0e8005c83f080133ffaa3f242fb1a4442fb1b5542fb1c6642fb1e772ffa8afa2ffa8bfb"
            "2ffa8cfc2ffa8efe43fb0a4443fb0b5543fb0c6643fb0e7712ee10aa51457ff44faf53ec102af0e802ab34fb0a2435fb"
            "1a2536fb0b2637fb1b2744fa03f445fa03f546fa03f647fa03f7c4ea0644c5ea0745a4f30804a5f3080544ea052484f0"
            "803453ec322a42f8044b02ee902a9a427ff422afbde8f08c"
        ),
    },
    "depthwise_stage": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04fdde909c9dde90b45ddf83ca0caea0a4a49ec11aa04fb05f42044214422442344c4f1000444ec105a0d9e11ee"
            "10aa4eb1ece802aaece802aaece802aaece802aa013ef5d110ee90ea0b9c14f0010f25d150f80e4051f80e8052f80e50"
            "53f80e90c4ea0846c8ea2448c5ea0947c9ea25492ffa86f42ffa87f52ffa96f62ffa97f72ffa98fa2ffa99fb2ffa88f8"
            "2ffa89f9ace8f00f10ee104a1eeb040e50f80e4051f80e8052f80e5053f80e90c4ea0846c8ea2448c5ea0947c9ea2549"
            "2ffa86f42ffa87f52ffa96f62ffa97f72ffa98fa2ffa99fb2ffa88f82ffa89f9ace8f00f10ee104a1eeb040eb2d10e9e"
            "11ee10aa4eb1ece802aaece802aaece802aaece802aa013ef5d111ee904a00f1040001f1040102f1040203f10403013c"
            "01ee904a82d1bde8f08f00bf"
        ),
    },
    "depthwise_fill": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "00eb420003810382038320f8203b0139f8d17047"
        ),
    },
    "depthwise_two_rows": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04f83b04fea4212a2f1080201f12003cde90123b0e8540142ec102a2ffa94f52ffa84f42ffa96f72ffa86f62ffa"
            "98f92ffa88f80090019810f0200f084400f108004bd0d1e90023d1e908ab5eec10ca22fb04cc12fb24ee13fb15cc23fb"
            "05eed1e910232afb06cc1afb26ee1bfb17cc2bfb07ee22fb08cc12fb28ee13fb19cc23fb09eee1e808ce5eec10ca2afb"
            "04cc1afb24ee1bfb15cc2bfb05eed1e910ab22fb06cc12fb26ee13fb17cc23fb07ee2afb08cc1afb28ee1bfb19cc2bfb"
            "09eee1e808ce8142c1d1dde90002029ba1eb020199429ed103b0bde8f08fd1e900abd1e90823d0e7"
        ),
    },
    "depthwise_finish_two_rows": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04f2ded088adde9114eddf84cc088b040f2000ac4f6403ad346cde900abcde902abcde904abcde906ab90ec044a"
            "0cf1800cccea0c4c04fb0ef422442344c4f10000b1ec080a9dec088ab8eec00a00ee048af8eee00a40ee848ab8eec11a"
            "01ee249af8eee11a41eea49ab8eec22a02ee05aaf8eee22a42ee85aab8eec33a03ee25baf8eee33a43eea5ba58ec184a"
            "59ec195a5aec1a6a5bec1b7ac8ea0a48c9ea0b4998fa1cf899fa1cf9a8f30808a9f3080948ea092888f08038c4ea0644"
            "c5ea074594fa1cf495fa1cf5a4f30804a5f3080544ea052484f0803443f80080145010eb0e00add108b0bdec088abde8"
            "f08f00bf"
        ),
    },
    "depthwise_finish_row": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04fdde909ec88b040f2000ac4f6403ad346cde900abcde902abcde904abcde906ab90ec044a0cf1800cccea0c4c"
            "03fb0ef31a44c3f10000b1ec080a9dec046ab8eec00a00ee046ab8eec11a41ee246ab8eec22a02ee057ab8eec33a43ee"
            "257a55ec164a57ec176ac4ea0644c5ea074594fa1cf495fa1cf5a4f30804a5f3080544ea052484f08034145010eb0e00"
            "d3d108b0bde8f08f"
        ),
    },
    "depthwise_fixed_two_rows": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04fdde90945dde90bcb4ff0010a0cf1800c0cfa0bfc0afa0bfa0ceb5a0c04fb05f422442344c4f1000ef1e80845"
            "51e90467d0f800a054fb0ac444fa0bf455fb0ac545fa0bf5d0f808a056fb0ac646fa0bf657fb0ac747fa0bf7c4ea0644"
            "c5ea0745a4f30804a5f3080551e9066751e90289d0f804a056fb0ac646fa0bf657fb0ac747fa0bf7d0f80ca058fb0ac8"
            "48fa0bf859fb0ac949fa0bf9c6ea0846c7ea0947a6f30806a7f3080745ea072544ea062485f0803584f0803443f80e50"
            "42f80e40ddf828a01eeb0a0eaed1bde8f08f00bf"
        ),
    },
    "depthwise_fixed_row": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04fdde909ecddf82cb04ff0010a0cf1800c0cfa0bfc0afa0bfa0ceb5a0c03fb0ef31a44c3f1000390e880078869"
            "0e698d6851f8204b54fb07c444fa0bf455fb08c545fa0bf556fb09c646fa0bf650fb0ac040fa0bf0c4ea0644c5ea0045"
            "a4f30804a5f3080544ea052484f08034d45013eb0e03dad1bde8f08f"
        ),
    },
    "depthwise_bytes_two_rows": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04fdde90945dde90b680d9f48ec170a46ec347a06fb05f632443344c6f100064fea4515a5f108054fea840445ec"
            "354a06ee906a17ee100ab0e8f00107ee100a44ec104a2ffa85f42ffa95f545ec114a2ffa86f42ffa96f545ec124a2ffa"
            "87f42ffa97f545ec134a04ee108a5cec164a14f0200f78d0d1e90089d1e908ab55ec104a57ec106a5eec110a28fb0044"
            "18fb205519fb1e4429fb0e552afb00661afb20771bfb1e662bfb0e77f1e910895eec120a2afb00441afb20551bfb1e44"
            "2bfb0e5528fb006618fb207719fb1e6629fb0e77d1e908ab5eec130a28fb004418fb205519fb1e4429fb0e552afb0066"
            "1afb20771bfb1e662bfb0e775eec140a54fb10e404f3070455fb10e505f3070556fb10e606f3070657fb10e707f30707"
            "15ee100a03f80c5002f80c40844403f80c7002f80c601ceb000ca1d150ec354a17ee905aa1eb00012a442b44013c05ee"
            "904a14f0030f7ff46eaf014401f12801002c7ff468afbde8f08ff1e808abd1e9008955ec104a5eec110a2afb00441afb"
            "20551bfb1e442bfb0e555eec120a28fb004418fb205519fb1e4429fb0e55d1e908ab5eec130a2afb00441afb20551bfb"
            "1e442bfb0e555eec140a54fb10e404f3070455fb10e505f3070515ee100a03f80c5002f80c401ceb000c7ff451afade7"
        ),
    },
    "depthwise_line": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04fdde90945dde90b67dde90d8e02ee108a03eb430300eb830343ec100aa4f1020434444fea540904f0010404eb"
            "070a09f0010b46ea4b0c4ceac40c4fea5a0b4cea0b1c0af1010a4fea5a0a4cea8a0cc6f1020606fb05104fea450609fb"
            "06f9484400eb05014a4402eb0503c9f100094cec119a354610ee108ab8e8001600ee108a2ffa8afb2ffa9afa57ec114a"
            "12ee106aa4eb0508ff0758bf10f9086011f90880c6ea084601d3374619e0075726fb0b9817fb1a8858fb1ce808f30708"
            "02f8048011f90480c7ea084716fb2b9827fb0a8858fb1ce808f3070803f804806419065727fb0b9816fb1a8858fb1ce8"
            "08f3070802f8048011f90480c6ea084617fb2b9826fb0a8858fb1ce808f3070803f804806419cad154ec317a5fea4778"
            "1ad52cbf90f90080a046c8ea044826fb0b9418fb1a4454fb1ce404f30704147017f0100f08d016fb2b9428fb0a4454fb"
            "1ce404f307041c7000f1010001f1010102f1010203f1010357ec108ab84585d1bde8f08f"
        ),
    },
    "depthwise_stage_pairs": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04fdde9094bdde90bc9ddf834a004fb1b9804fb1c99baeb040a4fea0a1addf824e004680d6858446144c4ea0546"
            "c5ea24472ffa86f42ffa96f52ffa87f62ffa97f7f0c2bef1010eebd1404449445244013be4d1bde8f08f00bf"
        ),
    },
    "depthwise_map": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9ff4fdde90d450f9e109f46ec347a6d0005ee905a0234240100ee104a5b085c43109404240f940098b0e8f0010090"
            "00ee904a04ee108a2ffa85f02ffa86f12ffa87f241ec110a2ffa95f545ec122a2ffa96f62ffa97f747ec136adde90112"
            "0d9c42ec161a07ee104ad1f80080d1f81090d1f820a0ddf840c00e9b8c441344012c6bd0d1f830b057ec106a31445eec"
            "110a28fb007418fb207529fb007619fb207729fb0e4419fb2e552afb0e661afb2e775eec120a2afb00441afb20552bfb"
            "00661bfb2077d1f80080d1f81090d1f820a0d1f830b018fb1e4428fb0e5519fb1e6629fb0e775eec130a19fb104429fb"
            "00551afb10662afb00771afb1e442afb0e551bfb1e662bfb0e775eec140a54fb10e404f3070455fb10e505f3070556fb"
            "10e606f3070657fb10e707f307075eec150a1d701f5414701654724473446145a2d10398c00743d09a4241d0134610ee"
            "100a844417ee104a012c95d157ec106a31445eec110a28fb007418fb207529fb0e4419fb2e555eec120a2afb00441afb"
            "2055d1f80080d1f81090d1f820a018fb1e4428fb0e555eec130a19fb104429fb00551afb1e442afb0e555eec140a54fb"
            "10e404f3070455fb10e505f3070515ee900a1d701470024403446145c6d1b8e752ec161a15ee100a17ee104a203102eb"
            "4002023c3ff73dafdde901120f9c04310132cde90112013c7ff415af04b0bde8f08f00bf"
        ),
    },
    "depthwise_stage_row": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04fdde909e4dde90b5c9df8346046ea062646ea064634b1c1e90066c1e902666144013cf8d12c4653b1032a2adc"
            "11d0022a06d0026870440a606144013bf9d137e0026845687044c1e900256144013bf7d12ee002684568d0f808a07044"
            "81e824046144013bf5d123e002684568d0f808a0d0f80cb0704481e8240c6144013bf3d116e040ea0e0212f0030fedd1"
            "03f101035b0805d390e8240c704481e8240c614490e8240c704481e8240c6144013bf1d134b1c1e90066c1e902666144"
            "013cf8d1bde8f08f"
        ),
    },
    "depthwise_window_bytes": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04f88b0dde91145dde91367ddf8548005f103094fea9909c5eb890aa1eb4a1100eb051e0ef1100e4ff0300b0ff2"
            "440c0afb0bcc4cf0010c00ee10ca4fea051a0af1100a01ee90aaa6ebc91604fb07f444ec308acde9027611ee104a1444"
            "cde90002cde90443cde90612f0c810ee10ca60470a680b69b0e8000fc2ea034cc3ea22432ffa8cf22ffa9cfc22fb0844"
            "2cfb09552ffa83f22ffa93f322fb0a6623fb0b770a6a0b6bb0e8000fc2ea034cc3ea22432ffa8cf22ffa9cfc22fb0844"
            "2cfb09552ffa83f22ffa93f322fb0a6623fb0b770a6c0b6db0e8000fc2ea034cc3ea22432ffa8cf22ffa9cfc22fb0844"
            "2cfb09552ffa83f22ffa93f322fb0a6623fb0b770a6e0b6fb0e8000fc2ea034cc3ea22432ffa8cf22ffa9cfc22fb0844"
            "2cfb09552ffa83f22ffa93f322fb0a6623fb0b7701f1800170459bd10b68b0e800032ffa83f22ffa93f312fb084413fb"
            "095512fb386613fb397790e8000f10ee90ca54fb18c404f3070455fb19c505f3070556fb1ac606f3070657fb1bc707f3"
            "070765f30f2467f30f269de80d03c4ea064414601a44019241444a457ff466afdde90531079a0ef1180011ee908a00eb"
            "080e01f1040102f10402013b7ff44daf08b0bde8f08f00bf"
        ),
    },
    "depthwise_window_bytes_9": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04f86b09946dde90f45dde9116804fb06f402eb040345ea0642c4f1000400ee104a10ee10ea8de80d01cde90491"
            "b0e8f00f0a680b69c2ea034cc3ea22432ffa8cf22ffa9cfc22fb08442cfb09552ffa83f22ffa93f322fb0a6623fb0b77"
            "0a6a0b6bb0e8000fc2ea034cc3ea22432ffa8cf22ffa9cfc22fb08442cfb09552ffa83f22ffa93f322fb0a6623fb0b77"
            "0a6c0b6db0e8000fc2ea034cc3ea22432ffa8cf22ffa9cfc22fb08442cfb09552ffa83f22ffa93f322fb0a6623fb0b77"
            "0a6e0b6fb0e8000fc2ea034cc3ea22432ffa8cf22ffa9cfc22fb08442cfb09552ffa83f22ffa93f322fb0a6623fb0b77"
            "d1f8803090e8011f2ffa83f22ffa93f312fb004413fb085512fb306613fb38779de80d0154fb198404f3070455fb1a85"
            "05f3070556fb1b8606f3070657fb1c8707f3070765f30f2467f30f26c4ea064443f80e4011fa82f11eeb124e7ff470af"
            "dde9049100f1680003f1040301f10401b9f101097ff45eaf06b0bde8f08f00bf"
        ),
    },
    "depthwise_window_bytes_apart": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04f88b0ddf858c002ee10cadde91145dde91367ddf8548005f103094fea9909c5eb890aa1eb4a1100eb051e0ef1"
            "100e4ff0300b0ff2440c0afb0bcc4cf0010c00ee10ca4fea051a0af1100a01ee90aaa6ebc91604fb07f444ec308acde9"
            "027611ee104a1444cde90002cde90443cde90612f0c810ee10ca60470a680b69b0e8000fc2ea034cc3ea22432ffa8cf2"
            "2ffa9cfc22fb08442cfb09552ffa83f22ffa93f322fb0a6623fb0b770a6a0b6bb0e8000fc2ea034cc3ea22432ffa8cf2"
            "2ffa9cfc22fb08442cfb09552ffa83f22ffa93f322fb0a6623fb0b770a6c0b6db0e8000fc2ea034cc3ea22432ffa8cf2"
            "2ffa9cfc22fb08442cfb09552ffa83f22ffa93f322fb0a6623fb0b770a6e0b6fb0e8000fc2ea034cc3ea22432ffa8cf2"
            "2ffa9cfc22fb08442cfb09552ffa83f22ffa93f322fb0a6623fb0b7701f1800170459bd10b68b0e800032ffa83f22ffa"
            "93f312fb084413fb095512fb386613fb397790e8000f10ee90ca54fb18c404f3070455fb19c505f3070556fb1ac606f3"
            "070657fb1bc707f307079de80d0312ee10aa147002f80a5002eb4a0b8bf800600bf80a701a44019241444a457ff462af"
            "dde90531079a0ef1180011ee908a00eb080e01f1040112ee10ca02eb8c02013b7ff447af08b0bde8f08f00bf"
        ),
    },
    "depthwise_window_sums": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04fdde9095605f103094fea9909c5eb890aa1eb4a1100eb051e0ef1100e4ff0300b0ff2280c0afb0bcc4cf0010c"
            "00ee10caa6ebc9164fea051505f1180546ec305a42ec313af0c810ee10ca60470a680b69b0e8000fc2ea034cc3ea2243"
            "2ffa8cf22ffa9cfc22fb08442cfb09552ffa83f22ffa93f322fb0a6623fb0b770a6a0b6bb0e8000fc2ea034cc3ea2243"
            "2ffa8cf22ffa9cfc22fb08442cfb09552ffa83f22ffa93f322fb0a6623fb0b770a6c0b6db0e8000fc2ea034cc3ea2243"
            "2ffa8cf22ffa9cfc22fb08442cfb09552ffa83f22ffa93f322fb0a6623fb0b770a6e0b6fb0e8000fc2ea034cc3ea2243"
            "2ffa8cf22ffa9cfc22fb08442cfb09552ffa83f22ffa93f322fb0a6623fb0b7701f1800170459bd10b68b0e800032ffa"
            "83f22ffa93f312fb084413fb095512fb386613fb397759ec308a52ec31aa95601661976142f8204ba0eb08004944baf1"
            "010a42ec31aa7ff477afbde8f08f00bf"
        ),
    },
    "pack": {
        ("thumbv6m",): (
            "10b58023083a1cdb04785c400c7044785c400c7284785c400c74c4785c400c76203104795c400c7044795c400c728479"
            "5c400c74c4795c400c7608302031083ae2da083206d004785c400c7001300831013af8d110bdc046"
        ),
        ("thumbv7m",): (
            "083a31db10f801cb8cf0800c01f808cb10f801cb8cf0800c01f808cb10f801cb8cf0800c01f808cb10f801cb8cf0800c"
            "01f808cb10f801cb8cf0800c01f808cb10f801cb8cf0800c01f808cb10f801cb8cf0800c01f808cb10f801cb8cf0800c"
            "01f808cb083acdda083207d010f801cb8cf0800c01f808cb013af7d1704700bf"
        ),
    },
    "gemm_1x4_pairs": {
        ("thumbv6m",): (
            "f0b544464d4656465f46f0b488b0049005920793129d2d01ed180695119ce700bf180026b046b146b246b346630814d3"
            "28ca98441b0c9944aa442d0cab440ce069ca8044000c81449a441b0c9b44a8442d0ca944b244360cb344ba42f0d14046"
            "4b4655465e46c001db01ed01f60140425b426d4276426a4669c2013c1f26a643b64614256e430ba5ad190135ac460498"
            "04c80490684678c8100480181b18a4182d18b6189846a146aa46b34605987246891a60470a7818c8534398441b0c9944"
            "5443a244240ca3444a7818c8534398441b0c99445443a244240ca3448a7818c8534398441b0c99445443a244240ca344"
            "ca7818c8534398441b0c99445443a244240ca3440a7918c8534398441b0c99445443a244240ca3444a7918c853439844"
            "1b0c99445443a244240ca3448a7918c8534398441b0c99445443a244240ca344ca7918c8534398441b0c99445443a244"
            "240ca3440a7a18c8534398441b0c99445443a244240ca3444a7a18c8534398441b0c99445443a244240ca3448a7a18c8"
            "534398441b0c99445443a244240ca344ca7a18c8534398441b0c99445443a244240ca3440a7b18c8534398441b0c9944"
            "5443a244240ca3444a7b18c8534398441b0c99445443a244240ca3448a7b18c8534398441b0c99445443a244240ca344"
            "ca7b18c8534398441b0c99445443a244240ca3440a7c18c8534398441b0c99445443a244240ca3444a7c18c853439844"
            "1b0c99445443a244240ca3448a7c18c8534398441b0c99445443a244240ca344ca7c18c8534398441b0c99445443a244"
            "240ca3440a7d18c8534398441b0c99445443a244240ca3444a7d18c8534398441b0c99445443a244240ca3448a7d18c8"
            "534398441b0c99445443a244240ca344ca7d18c8534398441b0c99445443a244240ca3440a7e18c8534398441b0c9944"
            "5443a244240ca3444a7e18c8534398441b0c99445443a244240ca3448a7e18c8534398441b0c99445443a244240ca344"
            "ca7e18c8534398441b0c99445443a244240ca3440a7f18c8534398441b0c99445443a244240ca3444a7f18c853439844"
            "1b0c99445443a244240ca3448a7f18c8534398441b0c99445443a244240ca344ca7f18c8534398441b0c99445443a244"
            "240ca3442031b84200d0bbe6079a43464c4655465e4620041b1a30042d1a78c20792069b9a4200d099e608b0f0bca046"
            "a946b246bb46f0bd"
        ),
    },
    "gemm_2x4_pairs": {
        ("thumbv7m",): (
            "2de9f04f8cb0cde90403dde9154c02ebc405cde906252846a4f1010606f0070606f101064ff0360706fb07f60ff29027"
            "a7eb060747f001074fea5c06cde90876a4f1010606f0070606f101064ff01e0706fb07f60ff2b037a7eb060747f00107"
            "cde90ac763084ff000044ff000054ff000064ff0000716d3f2e80289444405eb18454e4407eb19470de0b2e8000f4444"
            "05eb18454e4407eb1947544405eb1a455e4407eb1b478242efd1c4f10004c5f10005c6f10006c7f100074feac4144fea"
            "c5154feac6164feac7178de8f000099a002a00f00d81ddf810e0bee80c00cdf810e09de8f00003eb034c04eb0c0805eb"
            "030906eb0c0a07eb030b02eb024c6444154466441744ddf820c00698604700bf436850f8082b11f801cb02fb0cfe7444"
            "05eb1e4503fb0cfe764407eb1e4711f801cb02fb0cf2904409eb124903fb0cf39a440beb134b436850f8082b11f801cb"
            "02fb0cfe744405eb1e4503fb0cfe764407eb1e4711f801cb02fb0cf2904409eb124903fb0cf39a440beb134b436850f8"
            "082b11f801cb02fb0cfe744405eb1e4503fb0cfe764407eb1e4711f801cb02fb0cf2904409eb124903fb0cf39a440beb"
            "134b436850f8082b11f801cb02fb0cfe744405eb1e4503fb0cfe764407eb1e4711f801cb02fb0cf2904409eb124903fb"
            "0cf39a440beb134b436850f8082b11f801cb02fb0cfe744405eb1e4503fb0cfe764407eb1e4711f801cb02fb0cf29044"
            "09eb124903fb0cf39a440beb134b436850f8082b11f801cb02fb0cfe744405eb1e4503fb0cfe764407eb1e4711f801cb"
            "02fb0cf2904409eb124903fb0cf39a440beb134b436850f8082b11f801cb02fb0cfe744405eb1e4503fb0cfe764407eb"
            "1e4711f801cb02fb0cf2904409eb124903fb0cf39a440beb134b436850f8082b11f801cb02fb0cfe744405eb1e4503fb"
            "0cfe764407eb1e4711f801cb02fb0cf2904409eb124903fb0cf39a440beb134bddf81cc060457ff423afa4eb0544a6eb"
            "0746a8eb0948aaeb0b4a099addf814e0aee8f00fcdf814e0013a09927ff4f3ae0a9a5208c0f09580ddf810e0def80020"
            "9de8f00002eb024c6444154466441744ddf82cc006986047436850f8082b11f801cb02fb0cf2144405eb124503fb0cf3"
            "1e4407eb1347436850f8082b11f801cb02fb0cf2144405eb124503fb0cf31e4407eb1347436850f8082b11f801cb02fb"
            "0cf2144405eb124503fb0cf31e4407eb1347436850f8082b11f801cb02fb0cf2144405eb124503fb0cf31e4407eb1347"
            "436850f8082b11f801cb02fb0cf2144405eb124503fb0cf31e4407eb1347436850f8082b11f801cb02fb0cf2144405eb"
            "124503fb0cf31e4407eb1347436850f8082b11f801cb02fb0cf2144405eb124503fb0cf31e4407eb1347436850f8082b"
            "11f801cb02fb0cf2144405eb124503fb0cf31e4407eb1347ddf81cc060457ff483afa4eb0544a6eb0746ddf814e08ee8"
            "f0000cb0bde8f08f"
        ),
    },
    "gemm_4x1_words": {
        ("thumbv6m",): (
            "f0b544464d4656465f46f0b484b00090019203930e9dad00ed1802950d9ca500ad180435ac46e7087f01bf1804370098"
            "78c80090019804c89b18a418ad18b6189846a146aa46b346b84264d078c80a785a4390444a785a4391448a785a439244"
            "ca785a4393440a79624390444a79624391448a7962439244ca79624393440a7a6a4390444a7a6a4391448a7a6a439244"
            "ca7a6a4393440a7b724390444a7b724391448a7b72439244ca7b7243934478c80a7c5a4390444a7c5a4391448a7c5a43"
            "9244ca7c5a4393440a7d624390444a7d624391448a7d62439244ca7d624393440a7e6a4390444a7e6a4391448a7e6a43"
            "9244ca7e6a4393440a7f724390444a7f724391448a7f72439244ca7f724393442031b8429ad160450fd008c80a785a43"
            "90444a785a4391448a785a439244ca785a43934404316045efd1039a43464c4655465e4678c20392029b9a4200d06ee7"
            "04b0f0bca046a946b246bb46f0bdc046"
        ),
        ("thumbv7m",): (
            "2de9f04f86b0dde90f45cde9000203eb8505cde90235043202eb8405a40802eb0416cde90456dde90020f0ca009250f8"
            "042b059ba418ad18b618bf18984200f03d80b0e8000f4a788b7891f803e011f804cb08fb025508fb036608fb0e7708fb"
            "0c444a788b7891f803e011f804cb09fb025509fb036609fb0e7709fb0c444a788b7891f803e011f804cb0afb02550afb"
            "03660afb0e770afb0c444a788b7891f803e011f804cb0bfb02550bfb03660bfb0e770bfb0c44059a9042c2d1ddf81090"
            "484511d050f8048b4a788b7891f803e011f804cb08fb025508fb036608fb0e7708fb0c444845edd1dde90223f0c20292"
            "9a4298d106b0bde8f08f00bf"
        ),
    },
    "gemm_4x1_bytes": {
        ("thumbv6m",): (
            "f0b544464d4656465f46f0b484b00090019203930e9dad00ed1802950d9ca500ad180435ac46e4086401a4180434a646"
            "019804c813029b18984691469a469346704564d078c80a88d7b25a4390445f43b9444a88d7b25a4392445f43bb448a88"
            "d7b2624390446743b944ca88d7b2624392446743bb440a89d7b26a4390446f43b9444a89d7b26a4392446f43bb448a89"
            "d7b2724390447743b944ca89d7b2724392447743bb4478c80a8ad7b25a4390445f43b9444a8ad7b25a4392445f43bb44"
            "8a8ad7b2624390446743b944ca8ad7b2624392446743bb440a8bd7b26a4390446f43b9444a8bd7b26a4392446f43bb44"
            "8a8bd7b2724390447743b944ca8bd7b2724392447743bb44203170459ad160450fd008c80a88d7b25a4390445f43b944"
            "4a88d7b25a4392445f43bb4404316045efd14b464446e41a24125d465646761b3612009884c89b18e41984c8ad18f619"
            "0090039a78c20392029b9a4200d067e704b0f0bca046a946b246bb46f0bdc046"
        ),
    },
    "requantize_fixed": {
        ("thumbv6m",): (
            "f0b544464d4656465f46f0b485b0009101920f9ca40003945c43241802940e9ca4000494109ca24601242407a0468446"
            "009830c80090a3b2240c0120119949004018a840401001210903401a81466646049880198346019f01ce011480b20246"
            "5a43120c6043801840440a465a438018000c614309184944294148b2884212d1387057445e45e7d10198013001900398"
            "844402986045cbd105b0f0bca046a946b246bb46f0bdc9177f204840e8e7c046"
        ),
        ("thumbv7m",): (
            "2de9f04f83b0dde90c452d1ba400ad00cde90054dde90eca4fea4a0a0af1010af1e802450afa05f64fea6606019f00eb"
            "070e934650f8047b87fb0489b14449fa05f909f307098bf80090e3447045f1d1009f38440132013be2d103b0bde8f08f"
        ),
    },
    "requantize_halfword": {
        ("thumbv6m",): (
            "f0b544464d465e4670b482b00646174688460d9c0e9d64000134ac4064100b98012832d00a990c9a042801d1042946d0"
            "8900894600978000864643439b190193b44640460388023080466646cb46b344009f01ce011480b25843000c59434018"
            "0019284141b281420bd13970bf185e45efd1009801300090f44401986045e0d161e0c0177f214140efe7f81884464246"
            "138801ce011480b25843000c594340180019284141b2814205d13970023201376745edd147e0c0177f214140f5e7bc46"
            "db199e46012081464046038802308046674601ce011480b25843000c594340180019284141b2814233d13970bf1801ce"
            "011480b25843000c594340180019284141b2814229d13970bf1801ce011480b25843000c594340180019284141b28142"
            "1fd13970bf1801ce011480b25843000c594340180019284141b2814215d13970cc44f445c0d102b070bca046a946b346"
            "f0bdc0177f214140c7e7c0177f214140d1e7c0177f214140dbe7c0177f214140e5e7c046"
        ),
        ("thumbv7m",): (
            "2de9f04f81b0dde90a4adde90cc60e9d4fea460606f1010606fa05f64fea6606baf1010f26d00ceb4c0ebaeb040a08bf"
            "042c31d04fea8a0a4fea8404009431f8024b4fea0444009f00eb070e934650f8049b89fb0489b14449fa05f909f30709"
            "8bf80090e3447045f1d150440132013be5d13de031f8024b4fea044450f8049b89fb0489b14449fa05f909f3070902f8"
            "019b013beed12be031f8024b4fea0444b0e8800e87fb0487374447fa05f707f3070789fb0489b14449fa05f909f30709"
            "8afb048ab2444afa05fa0af3070a8bfb048bb3444bfa05fb0bf3070b177002f80c9002f81ca002f80eb00132013bd3d1"
            "01b0bde8f08f00bf"
        ),
    },
    "channel_row": {
        ("thumbv6m",): (
            "f0b55a4396465c00e418121b9446002208e08456d2188556d2188656d2188756d218f0c16245f4db02e08456d21810c1"
            "7245fadbf0bdc046"
        ),
        ("thumbv7m",): (
            "f0b55a4396465c00e418121b9446002208e08456d2188556d2188656d2188756d218f0c16245f4db02e08456d21810c1"
            "7245fadbf0bd00bf"
        ),
    },
    "channel_rows": {
        ("thumbv6m",): (
            "f4b5089ce41aa4000894069c63439e4665002d195b1b9c462346002262450ada8456d2188556d2188656d2188756d218"
            "f0c16245f4db724504da8456d21810c17245fadb079c0019089c0919009c013c0094e2d1f4bdc046"
        ),
        ("thumbv7m",): (
            "f4b5089ce41aa4000894069c63439e4665002d195b1b9c462346002262450ada8456d2188556d2188656d2188756d218"
            "f0c16245f4db724504da8456d21810c17245fadb079c0019089c0919009c013c0094e2d1f4bd00bf"
        ),
    },
    "depthwise3x3": {
        ("thumbv6m",): (
            "f0b544464d4656465f46f0b490b00e920a93006809900c7864b200944c7864b201948c7864b20294cc7864b203940c79"
            "64b204944c7964b205948c7964b20694cc7964b207940c7a64b20894199c0b941c9dad001b9e75430f950e981a9ca408"
            "10d00c941c9dad001b9e6f007f193401e41ba6460c2474430c342d1bac46012e01d07ee0f5e00999884689468a468b46"
            "009d019e029f0ec86943884414467443a0446a4391441c467c43a0441c467443a1446b439a440ec80c467c43a1440c46"
            "7443a24469438b4414467c43a244724393447b439b446044039d049e059f0ec86943884414467443a0446a4391441c46"
            "7c43a0441c467443a1446b439a440ec80c467c43a1440c467443a24469438b4414467c43a244724393447b439b446044"
            "069d079e089f0ec86943884414467443a0446a4391441c467c43a0441c467443a1446b439a440ec80c467c43a1440c46"
            "7443a24469438b4414467c43a244724393447b439b44604470440a9d41464a4653465c461ec50a950c9901390c9178d0"
            "81e70999884689468a468b46009d019e029f0ec869438844724390441c467c43a0446b4399440ec87143894414467c43"
            "a1446a43924473439a440ec80c467c43a24469438b44724393447b439b446044039d049e059f0ec86943884472439044"
            "1c467c43a0446b4399440ec87143894414467c43a1446a43924473439a440ec80c467c43a24469438b44724393447b43"
            "9b446044069d079e089f0ec869438844724390441c467c43a0446b4399440ec87143894414467c43a1446a4392447343"
            "9a440ec80c467c43a24469438b44724393447b439b44604470440a9d41464a4653465c461ec50a950c9901390c9100d0"
            "87e71a9c03252c4036d00c941c9dad006f007f190c3da9461b9eb600f61bb24609998846009d019e029f0ec869438844"
            "724390447b4398444844039d049e059f0ec869438844724390447b4398444844069d079e089f0ec86943884472439044"
            "7b439844484450440a9d414602c50a950c9901390c91d3d10e980f9940180e900b9901390b9100d0afe610b0f0bca046"
            "a946b246bb46f0bd"
        ),
        ("thumbv7m",): (
            "2de9f04f85b00068cde9000302920e9c0494dde910454fea850e04fb0ef403940298dde90f325fea930b00f00a81012a"
            "40f07e80009c254626462746844691f9008091f9019091f902a0dce9002302fb084403fb094403fb0855dce9022302fb"
            "0a4402fb095502fb086603fb0a5503fb096603fb0877dce9042302fb0a6602fb097703fb0a77f44491f9038091f90490"
            "91f905a0dce9002302fb084403fb094403fb0855dce9022302fb0a4402fb095502fb086603fb0a5503fb096603fb0877"
            "dce9042302fb0a6602fb097703fb0a77f44491f9068091f9079091f908a0dce9002302fb084403fb094403fb0855dce9"
            "022302fb0a4402fb095502fb086603fb0a5503fb096603fb0877dce9042302fb0a6602fb097703fb0a77f444019af0c2"
            "019200f11000bbf1010b7ff483af88e0009c254626462746844691f9008091f9019091f902a0dce9002302fb084403fb"
            "0944dce9022302fb0a4402fb085503fb0955dce9042302fb0a5502fb086603fb0966dce9062302fb0a6602fb087703fb"
            "0977dcf8202002fb0a77f44491f9038091f9049091f905a0dce9002302fb084403fb0944dce9022302fb0a4402fb0855"
            "03fb0955dce9042302fb0a5502fb086603fb0966dce9062302fb0a6602fb087703fb0977dcf8202002fb0a77f44491f9"
            "068091f9079091f908a0dce9002302fb084403fb0944dce9022302fb0a4402fb085503fb0955dce9042302fb0a5502fb"
            "086603fb0966dce9062302fb0a6602fb087703fb0977dcf8202002fb0a77f444019af0c2019200f12000bbf1010b7ff4"
            "77afdde90f324fea820513f0030b00f03e80009c844691f9008091f9019091f902a0dce9002302fb084403fb0944dcf8"
            "082002fb0a44f44491f9038091f9049091f905a0dce9002302fb084403fb0944dcf8082002fb0a44f44491f9068091f9"
            "079091f908a0dce9002302fb084403fb0944dcf8082002fb0a44f444019a42f8044b01922844bbf1010b7ff4c2afdde9"
            "020210440290049a013a04927ff4a0ae05b0bde8f08f00bf"
        ),
    },
    "pointwise_4": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04fdde90994dde90baba4f1010606f0070606f101064ff018080ff2081706fb187747f00107a9f1040647ec106a"
            "4ff0100604fb060640ec116a03fb0b2603ee106aaaeb090aabeb040b4bec12aa0d9b57ec306a11ee900a51f8045b2ffa"
            "85f42ffa95f53047b0e8000f24fb098825fb0a8858fb1b3808f3070802f8018bb0e8000f24fb098825fb0a8858fb1b38"
            "08f3070802f8018bb0e8000f24fb098825fb0a8858fb1b3808f3070802f8018bb0e8000f24fb098825fb0a8858fb1b38"
            "08f3070802f8018bb0e8000f24fb098825fb0a8858fb1b3808f3070802f8018bb0e8000f24fb098825fb0a8858fb1b38"
            "08f3070802f8018bb0e8000f24fb098825fb0a8858fb1b3808f3070802f8018bb0e8000f24fb098825fb0a8858fb1b38"
            "08f3070802f8018bb8427ff49daf59ec128a41444a4413ee108a42457ff48bafbde8f08f"
        ),
    },
    "pointwise_8": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04fdde90994dde90baba4f1010606f0070606f101064ff020080ff2541706fb187747f00107a9f1040647ec106a"
            "4ff0180604fb060640ec116a03fb0b2603ee106aaaeb090aabeb040b4bec12aa0d9b11ee900a59ec108a0d6841442ffa"
            "85f42ffa95f551f8047b2ffa87f62ffa97f74847b0e8005f24fb098825fb0a8826fb0b8827fb0c8858fb1e3808f30708"
            "02f8018bb0e8005f24fb098825fb0a8826fb0b8827fb0c8858fb1e3808f3070802f8018bb0e8005f24fb098825fb0a88"
            "26fb0b8827fb0c8858fb1e3808f3070802f8018bb0e8005f24fb098825fb0a8826fb0b8827fb0c8858fb1e3808f30708"
            "02f8018bb0e8005f24fb098825fb0a8826fb0b8827fb0c8858fb1e3808f3070802f8018bb0e8005f24fb098825fb0a88"
            "26fb0b8827fb0c8858fb1e3808f3070802f8018bb0e8005f24fb098825fb0a8826fb0b8827fb0c8858fb1e3808f30708"
            "02f8018bb0e8005f24fb098825fb0a8826fb0b8827fb0c8858fb1e3808f3070802f8018b11ee108a40457ff47baf59ec"
            "128a41444a4413ee108a42457ff461afbde8f08f"
        ),
    },
    "pointwise_12": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04fdde90994dde90baba4f1010606f0070606f101064ff02c080ff2cc1706fb187747f00107a9f1040647ec106a"
            "4ff0200604fb060640ec116a03fb0b2603ee106aaaeb090aabeb040b4bec12aa0d9b03ee901a11ee900a13ee901a5bec"
            "10aa0d684f6851f80a905144043103ee901a2ffa85f42ffa95f52ffa87f62ffa97f72ffa89f82ffa99f95847b0e8025c"
            "24fb0a1125fb0b1126fb0c1127fb0e11b0e8001c28fb0a1129fb0b1151fb1c3101f3070102f8011bb0e8025c24fb0a11"
            "25fb0b1126fb0c1127fb0e11b0e8001c28fb0a1129fb0b1151fb1c3101f3070102f8011bb0e8025c24fb0a1125fb0b11"
            "26fb0c1127fb0e11b0e8001c28fb0a1129fb0b1151fb1c3101f3070102f8011bb0e8025c24fb0a1125fb0b1126fb0c11"
            "27fb0e11b0e8001c28fb0a1129fb0b1151fb1c3101f3070102f8011bb0e8025c24fb0a1125fb0b1126fb0c1127fb0e11"
            "b0e8001c28fb0a1129fb0b1151fb1c3101f3070102f8011bb0e8025c24fb0a1125fb0b1126fb0c1127fb0e11b0e8001c"
            "28fb0a1129fb0b1151fb1c3101f3070102f8011bb0e8025c24fb0a1125fb0b1126fb0c1127fb0e11b0e8001c28fb0a11"
            "29fb0b1151fb1c3101f3070102f8011bb0e8025c24fb0a1125fb0b1126fb0c1127fb0e11b0e8001c28fb0a1129fb0b11"
            "51fb1c3101f3070102f8011b11ee10aa50457ff44baf13ee901a5bec12aa514403ee901a5a4413ee10aa52457ff423af"
            "bde8f08f"
        ),
    },
    "grouped_pointwise_4": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04fdde909c9dde90b4addf834b0a4f1010606f0070606f101064ff018080ff2101706fb187747f00107a9f10406"
            "47ec106a09fb0cf904fb0cf44ff0100604fb060640ec116a03fb0b2603ee106aaaeb090aabeb040b4bec12aa0e9b57ec"
            "306a11ee900a51f8045b2ffa85f42ffa95f53047b0e8000f24fb098825fb0a8858fb1b3808f3070802f8018bb0e8000f"
            "24fb098825fb0a8858fb1b3808f3070802f8018bb0e8000f24fb098825fb0a8858fb1b3808f3070802f8018bb0e8000f"
            "24fb098825fb0a8858fb1b3808f3070802f8018bb0e8000f24fb098825fb0a8858fb1b3808f3070802f8018bb0e8000f"
            "24fb098825fb0a8858fb1b3808f3070802f8018bb0e8000f24fb098825fb0a8858fb1b3808f3070802f8018bb0e8000f"
            "24fb098825fb0a8858fb1b3808f3070802f8018bb8427ff496af59ec128a41444a4413ee108a42457ff48bafbde8f08f"
        ),
    },
    "grouped_pointwise_7": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04fdde909c9dde90b4addf834b0a4f1010606f0070606f101064ff020080ff25c1706fb187747f00107a9f10406"
            "47ec106a09fb0cf904fb0cf44ff0180604fb060640ec116a03fb0b2603ee106aaaeb090aabeb040b4bec12aa0e9b11ee"
            "900a59ec108a0d6841442ffa85f42ffa95f551f8047b2ffa87f62ffa97f74847b0e8005f24fb098825fb0a8826fb0b88"
            "27fb0c8858fb1e3808f3070802f8018bb0e8005f24fb098825fb0a8826fb0b8827fb0c8858fb1e3808f3070802f8018b"
            "b0e8005f24fb098825fb0a8826fb0b8827fb0c8858fb1e3808f3070802f8018bb0e8005f24fb098825fb0a8826fb0b88"
            "27fb0c8858fb1e3808f3070802f8018bb0e8005f24fb098825fb0a8826fb0b8827fb0c8858fb1e3808f3070802f8018b"
            "b0e8005f24fb098825fb0a8826fb0b8827fb0c8858fb1e3808f3070802f8018bb0e8005f24fb098825fb0a8826fb0b88"
            "27fb0c8858fb1e3808f3070802f8018bb0e8005f24fb098825fb0a8826fb0b8827fb0c8858fb1e3808f3070802f8018b"
            "11ee108a40457ff46caf59ec128a41444a4413ee108a42457ff461afbde8f08f"
        ),
    },
    "grouped_pointwise_8": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04fdde909c9dde90b4addf834b0a4f1010606f0070606f101064ff020080ff25c1706fb187747f00107a9f10406"
            "47ec106a09fb0cf904fb0cf44ff0180604fb060640ec116a03fb0b2603ee106aaaeb090aabeb040b4bec12aa0e9b11ee"
            "900a10ee909a51f8045b51f8047b2ffa85f42ffa95f52ffa87f62ffa97f74847b0e8005f24fb098825fb0a8826fb0b88"
            "27fb0c8858fb1e3808f3070802f8018bb0e8005f24fb098825fb0a8826fb0b8827fb0c8858fb1e3808f3070802f8018b"
            "b0e8005f24fb098825fb0a8826fb0b8827fb0c8858fb1e3808f3070802f8018bb0e8005f24fb098825fb0a8826fb0b88"
            "27fb0c8858fb1e3808f3070802f8018bb0e8005f24fb098825fb0a8826fb0b8827fb0c8858fb1e3808f3070802f8018b"
            "b0e8005f24fb098825fb0a8826fb0b8827fb0c8858fb1e3808f3070802f8018bb0e8005f24fb098825fb0a8826fb0b88"
            "27fb0c8858fb1e3808f3070802f8018bb0e8005f24fb098825fb0a8826fb0b8827fb0c8858fb1e3808f3070802f8018b"
            "11ee108a40457ff46caf59ec128a41444a4413ee108a42457ff461afbde8f08f"
        ),
    },
    "greatest2": {
        ("thumbv7em", "thumbv8m.main"): (
            "70b5083b15db50f8044b51f8045bc4fa05fea4fa85f442f8044b50f8044b51f8045bc4fa05fea4fa85f442f8044b083b"
            "e9da08330ad010f9014b11f9015bac42b8bf2c4602f8014b013bf4d170bd00bf"
        ),
        ("thumbv8.1m.main",): (
            "10b503f00bc0b0ec101eb1ec103e00ef4206a2ec101e1ff00bc010bd"
        ),
    },
    "greatest3": {
        ("thumbv7em", "thumbv8m.main"): (
            "70b5ddf810c0bcf1080c22db50f8044b51f8045b52f8046bc4fa05fea4fa85f4c4fa06fea4fa86f443f8044b50f8044b"
            "51f8045b52f8046bc4fa05fea4fa85f4c4fa06fea4fa86f443f8044bbcf1080cdcda1cf1080c10d010f9014b11f9015b"
            "12f9016bac42b8bf2c46b442b8bf344603f8014bbcf1010ceed170bd"
        ),
        ("thumbv8.1m.main",): (
            "10b5ddf808c00cf00fc0b0ec101eb1ec103eb2ec105e00ef420600ef4406a3ec101e1ff00fc010bd"
        ),
    },
    "greatest_of": {
        ("thumbv7em", "thumbv8m.main"): (
            "10b54ff08033103a19db50f8044bc3fa04fea3fa84f350f8044bc3fa04fea3fa84f350f8044bc3fa04fea3fa84f350f8"
            "044bc3fa04fea3fa84f3103ae5da0c3207db50f8044bc3fa04fea3fa84f3043af7da4fea3344c3fa04fea3fa84f34fea"
            "3324c3fa04fea3fa84f3043207d010f9014bc3fa04fea3fa84f3013af7d10b7010bd00bf"
        ),
        ("thumbv8.1m.main",): (
            "10b56ff07f0302f007c0b0ec101ee2ee003f1ff007c00b7010bd00bf"
        ),
    },
    "helium_copy": {
        ("thumbv8.1m.main",): (
            "70b5dde9044506468c4603f007c0b6ec101eacec101e1ff007c020442944013af1d170bd"
        ),
    },
    "helium_windows": {
        ("thumbv8.1m.main",): (
            "2de9f04fdde90a56dde90c78ddf824b081468a46bbf1100f10da0bf001e8cc46544642f001e031fe4d8f9ced001e84ed"
            "001eac443c440ff00bc018e0cc46544642f001e09ced001eac4484ed001e3c440ff009c0bbf1100b09dd4ff0100ce345"
            "bcbfdc464ff0100be144e244e6e730444144013bcad1bde8f08f00bf"
        ),
    },
    "helium_fill": {
        ("thumbv8.1m.main",): (
            "10b5e0ee102b01f005c0a0ec101e1ff005c010bd"
        ),
    },
    "helium_lookup": {
        ("thumbv8.1m.main",): (
            "10b54ff08004e4ee104b03f00bc0b0ec101e00ff540191fc002ea2ec103e1ff00bc010bd"
        ),
    },
    "helium_rescale": {
        ("thumbv8.1m.main",): (
            "2de9f0412ded088bdde90e45dde91067dde9128c4fead30e103f2ddb03f00703c7f10007a4ee308ba6ee30cba8ee104b"
            "4ef021c0b0ec040fb1ec042f29ee461eb0ec04af23ee450eb1ec042f29ee46be23ee45aeb0ff50a435ee67be1aef44a6"
            "1aef56a6b0ff5a00a2ec08af02ed040f0ff021c0c7f1000707f11007c7f10007a4ee108ba6ee10cb23f015c0b0ec040f"
            "b1ec042f21ee641e23ee450e21ee460f39ee671e20ef440620ef5606a2ec040f1ff015c0bdec088bbde8f081"
        ),
    },
    "helium_rescale_product": {
        ("thumbv8.1m.main",): (
            "2de9f0412ded088bdde90e45dde91067dde9128cc8f10008a8ee30cbddf850c0a6ee106baaee30cb4fead30c4cf021c0"
            "b0ec880e11ee441fb1ec882e13ee453f11ee024e11ee023e27ee475e39ee685e27ee473e37ee050e39ee683e37ee031e"
            "10ef480610ef5a06a2ec880e0ff021c013f0070325d013f001e871fe4d0fb0ec880e11ee441f71fe4d0fb1ec882e13ee"
            "453f11ee024e11ee023e27ee475e39ee685e27ee473e37ee050e39ee683e37ee031e10ef480610ef5a0671fe4d0fa2ec"
            "880ebdec088bbde8f08100bf"
        ),
    },
    "helium_rescale_product_upper": {
        ("thumbv8.1m.main",): (
            "2de9f0412ded088bdde90e45dde91067dde9128c4feaa6064fea6707a8ee308ba6ee106baaee30cb4fead30c4cf01dc0"
            "b0ec880e11ee441fb1ec882e13ee453f11ee024e11ee023e26ee475e26ee473e37ee050e37ee031e10ef480610ef5a06"
            "a2ec880e0ff01dc013f0070321d013f001e871fe4d0fb0ec880e11ee441f71fe4d0fb1ec882e13ee453f11ee024e11ee"
            "023e26ee475e26ee473e37ee050e37ee031e10ef480610ef5a0671fe4d0fa2ec880ebdec088bbde8f08100bf"
        ),
    },
    "helium_sum": {
        ("thumbv8.1m.main",): (
            "70b5049c1d460646a0ee104b25f001e842f001e071fe4d0f96ed002f20ef42081e440ff009c8a1ec041f00f10400043d"
            "e9dc70bd"
        ),
    },
    "helium_pack": {
        ("thumbv8.1m.main",): (
            "2de9f04f2ded088bdde911a94fea89094ff0000425eeeeafa2ef5aa594464ff0040b6ff00004a8ee104bbcf1040f09da"
            "ccf104054feac5056ff0000424fa05f4a8ee104b0446bcf1010fccbf04eb0a052546bcf1020fccbf05eb0a062e46bcf1"
            "030fccbf06eb0a07374607eb0a0088464fea930e4ef015c8b4fc040fb5fc042fb6fc044fa8ff5205b7fc046fa8ff5645"
            "b0ff540500ef580188ec4a0fc8440ff015c813f0030e15d02ef001e831fe4d2f94fd000f95fd002f96fd004f97fd006f"
            "a8ff5205a8ff5645b0ff540500ef580188ec4a0f01f10401bbf1010b04bf4ff0040b30316ff00004bcf1040c9bdcbdec"
            "088bbde8f08f00bf"
        ),
    },
    "helium_gemm_4x2_i8": {
        ("thumbv8.1m.main",): (
            "2de9f04f2ded088b8cb0dde91d45dde92267a8ee306beaee107ba5eb0415cde90635a4f1010606f0070707f101074ff0"
            "38080ff2182907fb189949f001094fead60606f10106cde904961f9ecde909020b96dde920494f46012e04bf00240027"
            "0c44cde900141744cde90227099dcdf8209095e85500b5e80055dde90013dde906b9b5ec105e059fddf810f0b1ec101e"
            "f0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105e"
            "f2ee26efb1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107e"
            "f0ee266fb5ec105ef2ee26efb1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244f"
            "f2ee24cfb5ec107ef0ee266fb5ec105ef2ee26efb1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26af"
            "b5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26efb1ec101ef0ee240fb3ec103ef2ee248fb5ec107e"
            "f0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26efb1ec101ef0ee240fb3ec103e"
            "f2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26efb1ec101e"
            "f0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105e"
            "f2ee26efb1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107e"
            "f0ee266fb5ec105ef2ee26ef013f7ff41dafbbf1010b40f04580dde90213ddf8209014ec000f16ec120fbbff40061cec"
            "082f00ff540d1eec1a2fbbff4001bbff422637ee010e02ff542dbbff422137ee031e10ef580033ee010e00ef4a06b0ff"
            "502029f001e831fe4d8fa1ec040fa3ec042fcde90213b9f104093ff7d8ae0b9e023e0adddde920494f46009901eb4401"
            "0a9a02eb47020a92bae60cb0bdec088bbde8f08f49444b44cde600bf"
        ),
    },
    "helium_gemm_4x2_short_runs_i8": {
        ("thumbv8.1m.main",): (
            "2de9f04f2ded088b89b0dde91f67a8ee306beaee107bdde91a45a5eb0415cde904354ff038080ff2f02904fb189949f0"
            "0109cde906091c9e0896dde91d4b5f46012e04bf0024002701eb0403cde900131744cde90227069d95e85500b5e80055"
            "dde90013b5ec105edde90479ddf81cf049444b44ddf81cf0b1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262f"
            "f2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26efb1ec101ef0ee240fb3ec103ef2ee248f"
            "b5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26efb1ec101ef0ee240f"
            "b3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26ef"
            "b1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266f"
            "b5ec105ef2ee26efb1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cf"
            "b5ec107ef0ee266fb5ec105ef2ee26efb1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105e"
            "f0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26efb1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262f"
            "f2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26efb1ec101ef0ee240fb3ec103ef2ee248f"
            "b5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26efb1ec101ef0ee240f"
            "b3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26ef"
            "b1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266f"
            "b5ec105ef2ee26efb1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cf"
            "b5ec107ef0ee266fb5ec105ef2ee26efb1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105e"
            "f0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26ef013f7ff4a9ae14ec000f16ec120fbbff40061cec082f00ff"
            "540d1eec1a2fbbff4001bbff422637ee010e02ff542dbbff422137ee031edde9021310ef5800bbf1040b33ee010e00ef"
            "4a06b0ff5020a3ec042fa1ec040fcde902133ff771ae089e023e05dd1a461d9c009901eb440157e609b0bdec088bbde8"
            "f08f00bf"
        ),
    },
    "helium_gemm_4x2_one_run_i8": {
        ("thumbv8.1m.main",): (
            "2de9f04f2ded088b85b0dde91967a8ee306beaee107b1c46a4f1010606f0070707f101074ff038080ff20c2907fb1899"
            "49f001094fead60606f10106cde9030905461746dde91693ddf860b095e85500b5e80055b5ec105ecdf80890b9f1010f"
            "d94604bf00234ff000090b44cde90013dde90013ddf810f0b1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262f"
            "f2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26efb1ec101ef0ee240fb3ec103ef2ee248f"
            "b5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26efb1ec101ef0ee240f"
            "b3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26ef"
            "b1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266f"
            "b5ec105ef2ee26efb1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cf"
            "b5ec107ef0ee266fb5ec105ef2ee26efb1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105e"
            "f0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26efb1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262f"
            "f2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26efb1ec101ef0ee240fb3ec103ef2ee248f"
            "b5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26ef14ec000fbbf1040b"
            "16ec120fbbff40061cec082f00ff540d1eec1a2fbbff4001bbff422637ee010e02ff542dbbff422137ee031e15dd95e8"
            "550010ef5800b5e8005533ee010eb5ec105e00ef4a06b0ff502007eb090181ed002fa7ec040ffff7ebbe039d10ef5800"
            "95e8550033ee010eb5e80055b5ec105e00ef4a06b0ff502007eb090181ed002fa7ec040fddf80890b9f1020906dddde9"
            "173b009901eb43015f44bde605b0bdec088bbde8f08f00bf"
        ),
    },
    "helium_gemm_4x2_fixed": {
        ("thumbv8.1m.main",): (
            "2de9f04f2ded088b8cb0dde91d45a5eb0415cde90635a4f1010606f0070707f101074ff038080ff2182907fb189949f0"
            "01094fead60606f10106cde904961f9ecde909020b96dde920494f46012e04bf002400270c44cde900141744cde90227"
            "099dcdf8209095e85500b5e80055dde90013dde906b9b5ec105e059fddf810f0b1ec101ef0ee240fb3ec103ef2ee248f"
            "b5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26efb1ec101ef0ee240f"
            "b3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26ef"
            "b1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266f"
            "b5ec105ef2ee26efb1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cf"
            "b5ec107ef0ee266fb5ec105ef2ee26efb1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105e"
            "f0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26efb1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262f"
            "f2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26efb1ec101ef0ee240fb3ec103ef2ee248f"
            "b5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26efb1ec101ef0ee240f"
            "b3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26ef"
            "013f7ff41dafbbf1010b40f03a80dde90213ddf8209014ec000f229f16ec120f1cec082f24ee471e1eec1a2f37ee010e"
            "24ee473e37ee031e33ee010eb0ff502029f001e831fe4d8fa1ec040fa3ec042fcde90213b9f104093ff7e3ae0b9e023e"
            "0adddde920494f46009901eb44010a9a02eb47020a92c5e60cb0bdec088bbde8f08f49444b44d8e6"
        ),
    },
    "helium_gemm_4x2_short_runs_fixed": {
        ("thumbv8.1m.main",): (
            "2de9f04f2ded088b89b0dde91a45a5eb0415cde904354ff038080ff2f02904fb189949f00109cde906091c9e0896dde9"
            "1d4b5f46012e04bf0024002701eb0403cde900131744cde90227069d95e85500b5e80055dde90013b5ec105edde90479"
            "ddf81cf049444b44ddf81cf0b1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244f"
            "f2ee24cfb5ec107ef0ee266fb5ec105ef2ee26efb1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26af"
            "b5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26efb1ec101ef0ee240fb3ec103ef2ee248fb5ec107e"
            "f0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26efb1ec101ef0ee240fb3ec103e"
            "f2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26efb1ec101e"
            "f0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105e"
            "f2ee26efb1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107e"
            "f0ee266fb5ec105ef2ee26efb1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244f"
            "f2ee24cfb5ec107ef0ee266fb5ec105ef2ee26efb1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26af"
            "b5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26efb1ec101ef0ee240fb3ec103ef2ee248fb5ec107e"
            "f0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26efb1ec101ef0ee240fb3ec103e"
            "f2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26efb1ec101e"
            "f0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105e"
            "f2ee26efb1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107e"
            "f0ee266fb5ec105ef2ee26ef013f7ff4a9ae14ec000fddf87c9016ec120f1cec082f24ee491e1eec1a2f37ee010e24ee"
            "493e37ee031edde90213bbf1040b33ee010eb0ff5020a3ec042fa1ec040fcde902133ff77bae089e023e05dd1a461d9c"
            "009901eb440161e609b0bdec088bbde8f08f00bf"
        ),
    },
    "helium_gemm_4x2_one_run_fixed": {
        ("thumbv8.1m.main",): (
            "2de9f04f2ded088b85b01c46a4f1010606f0070707f101074ff038080ff20c2907fb189949f001094fead60606f10106"
            "cde9030905461746dde91693ddf860b095e85500b5e80055b5ec105ecdf80890b9f1010fd94604bf00234ff000090b44"
            "cde90013dde90013ddf810f0b1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244f"
            "f2ee24cfb5ec107ef0ee266fb5ec105ef2ee26efb1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26af"
            "b5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26efb1ec101ef0ee240fb3ec103ef2ee248fb5ec107e"
            "f0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26efb1ec101ef0ee240fb3ec103e"
            "f2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26efb1ec101e"
            "f0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105e"
            "f2ee26efb1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107e"
            "f0ee266fb5ec105ef2ee26efb1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244f"
            "f2ee24cfb5ec107ef0ee266fb5ec105ef2ee26efb1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26af"
            "b5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26ef14ec000f199916ec120f039b1cec082f24ee411e"
            "1eec1a2fbbf1040b37ee010e24ee413e53ead58507eb090137ee031e95e8550033ee010eb5e80055b0ff5020b5ec105e"
            "a7ec040f81ed002f03dddde90013ddf810f0ddf80890b9f1020906dddde9173b009901eb43015f44d8e605b0bdec088b"
            "bde8f08f"
        ),
    },
    "helium_gemm_4x2_i32": {
        ("thumbv8.1m.main",): (
            "2de9f04f2ded088b8cb0dde91d45a5eb0415cde90635a4f1010606f0070707f101074ff038080ff2202907fb189949f0"
            "01094fead60606f10106cde904961f9ecde909020b96dde9204909f1030727f003074fea8707012e04bf002400270c44"
            "cde900141744cde90227099dcdf8209095e85500b5e80055dde90013dde906b9059fddf810f000bfb5ec105eb1ec101e"
            "f0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266ff2ee26ef"
            "b5ec105eb1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107e"
            "f0ee266ff2ee26efb5ec105eb1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244f"
            "f2ee24cfb5ec107ef0ee266ff2ee26efb5ec105eb1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26af"
            "b5ec105ef0ee244ff2ee24cfb5ec107ef0ee266ff2ee26efb5ec105eb1ec101ef0ee240fb3ec103ef2ee248fb5ec107e"
            "f0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266ff2ee26efb5ec105eb1ec101ef0ee240fb3ec103e"
            "f2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266ff2ee26efb5ec105eb1ec101e"
            "f0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266ff2ee26ef"
            "b5ec105eb1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107e"
            "f0ee266ff2ee26ef013f7ff41dafbbf1010b40f02e80dde90213ddf8209014ec000f16ec120f1cec082f1eec1a2fa1ec"
            "041fa3ec043fcde90213b9f104093ff7f5ae0b9e023e0fdddde9204909f1030727f003074fea8707009901eb44010a9a"
            "02eb47020a92cde60cb0bdec088bbde8f08f49444b44e3e6"
        ),
    },
    "helium_gemm_4x1_i8": {
        ("thumbv8.1m.main",): (
            "2de9f04f2ded108b81b01e9ce6ee104b009105469246a3f10101dde91a9bdde91c8c009b574695ed109e2bf001e895e8"
            "550093ed001ef0ee280f95ed20bef0ee2a2f95ed30def0ee2c4f95ed40fef0ee2e6f95ed145f4b44bbf1040f28da41f0"
            "4dc814ec002f93ed001e16ec122f95e85500bbff422602ff542d4b44f0ee280fbbff422137ee032ef0ee2a2f12ee6c2f"
            "33ee032ef0ee2c4f02ef462671fe4d0f87ed002ff0ee2e6f47440ff027c025e041f025c014ec002f93ed001e16ec122f"
            "95e85500bbff422602ff542d4b44f0ee280fbbff422137ee032ef0ee2a2f12ee6c2f33ee032ef0ee2c4f02ef462687ed"
            "002ff0ee2e6f47440ff025c014ec002f16ec122fbbff422602ff542d05f16005bbff422137ee032e0af1040a12ee6c2f"
            "33ee032ebbf1040b02ef462671fe4d0f87ed002f3ff775af01b0bdec108bbde8f08f00bf"
        ),
    },
    "helium_gemm_4x1_fixed": {
        ("thumbv8.1m.main",): (
            "2de9f04f2ded108b81b0009105469246a3f10101dde91a9bdde91c8c009b574695ed109e2bf001e895e8550093ed001e"
            "f0ee280f95ed20bef0ee2a2f95ed30def0ee2c4f95ed40fef0ee2e6f95ed145f4b44bbf1040f20da41f03dc814ec002f"
            "93ed001e16ec122f95e8550024ee4c3e4b44f0ee280f37ee032ef0ee2a2f33ee032ef0ee2c4f71fe4d0f87ed002ff0ee"
            "2e6f47440ff01fc01de041f01dc014ec002f93ed001e16ec122f95e8550024ee4c3e4b44f0ee280f37ee032ef0ee2a2f"
            "33ee032ef0ee2c4f87ed002ff0ee2e6f47440ff01dc014ec002f16ec122f24ee4c3e05f1600537ee032e0af1040a33ee"
            "032ebbf1040b71fe4d0f87ed002f3ff78daf01b0bdec108bbde8f08f"
        ),
    },
    "helium_gemm_8x1_i8": {
        ("thumbv8.1m.main",): (
            "2de9f04f2ded088b82b0dde91467a8ee306beaee107bddf84cb005461c46a4f1010606f0070707f101074ff044080ff2"
            "482907fb189949f001094fead60606f10106cde900968946134655cdb5e800554946019fddf800f0b1ec101eb5ec103e"
            "f0ee220fb5ec105ef0ee242fb5ec103ef0ee224fb5ec105ef0ee246fb5ec103ef0ee228fb5ec105ef0ee24afb5ec103e"
            "f0ee22cfb5ec105ef0ee24efb1ec101eb5ec103ef0ee220fb5ec105ef0ee242fb5ec103ef0ee224fb5ec105ef0ee246f"
            "b5ec103ef0ee228fb5ec105ef0ee24afb5ec103ef0ee22cfb5ec105ef0ee24efb1ec101eb5ec103ef0ee220fb5ec105e"
            "f0ee242fb5ec103ef0ee224fb5ec105ef0ee246fb5ec103ef0ee228fb5ec105ef0ee24afb5ec103ef0ee22cfb5ec105e"
            "f0ee24efb1ec101eb5ec103ef0ee220fb5ec105ef0ee242fb5ec103ef0ee224fb5ec105ef0ee246fb5ec103ef0ee228f"
            "b5ec105ef0ee24afb5ec103ef0ee22cfb5ec105ef0ee24efb1ec101eb5ec103ef0ee220fb5ec105ef0ee242fb5ec103e"
            "f0ee224fb5ec105ef0ee246fb5ec103ef0ee228fb5ec105ef0ee24afb5ec103ef0ee22cfb5ec105ef0ee24efb1ec101e"
            "b5ec103ef0ee220fb5ec105ef0ee242fb5ec103ef0ee224fb5ec105ef0ee246fb5ec103ef0ee228fb5ec105ef0ee24af"
            "b5ec103ef0ee22cfb5ec105ef0ee24efb1ec101eb5ec103ef0ee220fb5ec105ef0ee242fb5ec103ef0ee224fb5ec105e"
            "f0ee246fb5ec103ef0ee228fb5ec105ef0ee24afb5ec103ef0ee22cfb5ec105ef0ee24efb1ec101eb5ec103ef0ee220f"
            "b5ec105ef0ee242fb5ec103ef0ee224fb5ec105ef0ee246fb5ec103ef0ee228fb5ec105ef0ee24afb5ec103ef0ee22cf"
            "b5ec105ef0ee24ef013f7ff4edae95fc005fb5fc205f18ec000f1cec140fbbff40061aec022f00ff540d1eec162fbbff"
            "4001bbff422637ee010e02ff562dbbff422137ee031e10ef580033ee010e00ef4a061bf001e871fe4d0fa3ec880ebbf1"
            "080bc4bf55cdb5e800553ff7b9ae02b0bdec088bbde8f08f"
        ),
    },
    "helium_gemm_8x1_fixed": {
        ("thumbv8.1m.main",): (
            "2de9f04f2ded088b82b0ddf84cb005461c46a4f1010606f0070707f101074ff044080ff2482907fb189949f001094fea"
            "d60606f10106cde900968946134655cdb5e800554946019fddf800f0b1ec101eb5ec103ef0ee220fb5ec105ef0ee242f"
            "b5ec103ef0ee224fb5ec105ef0ee246fb5ec103ef0ee228fb5ec105ef0ee24afb5ec103ef0ee22cfb5ec105ef0ee24ef"
            "b1ec101eb5ec103ef0ee220fb5ec105ef0ee242fb5ec103ef0ee224fb5ec105ef0ee246fb5ec103ef0ee228fb5ec105e"
            "f0ee24afb5ec103ef0ee22cfb5ec105ef0ee24efb1ec101eb5ec103ef0ee220fb5ec105ef0ee242fb5ec103ef0ee224f"
            "b5ec105ef0ee246fb5ec103ef0ee228fb5ec105ef0ee24afb5ec103ef0ee22cfb5ec105ef0ee24efb1ec101eb5ec103e"
            "f0ee220fb5ec105ef0ee242fb5ec103ef0ee224fb5ec105ef0ee246fb5ec103ef0ee228fb5ec105ef0ee24afb5ec103e"
            "f0ee22cfb5ec105ef0ee24efb1ec101eb5ec103ef0ee220fb5ec105ef0ee242fb5ec103ef0ee224fb5ec105ef0ee246f"
            "b5ec103ef0ee228fb5ec105ef0ee24afb5ec103ef0ee22cfb5ec105ef0ee24efb1ec101eb5ec103ef0ee220fb5ec105e"
            "f0ee242fb5ec103ef0ee224fb5ec105ef0ee246fb5ec103ef0ee228fb5ec105ef0ee24afb5ec103ef0ee22cfb5ec105e"
            "f0ee24efb1ec101eb5ec103ef0ee220fb5ec105ef0ee242fb5ec103ef0ee224fb5ec105ef0ee246fb5ec103ef0ee228f"
            "b5ec105ef0ee24afb5ec103ef0ee22cfb5ec105ef0ee24efb1ec101eb5ec103ef0ee220fb5ec105ef0ee242fb5ec103e"
            "f0ee224fb5ec105ef0ee246fb5ec103ef0ee228fb5ec105ef0ee24afb5ec103ef0ee22cfb5ec105ef0ee24ef013f7ff4"
            "edae18ec000f95fc005f1cec140fb5fc205f1aec022f14991bf001e81eec162f24ee411e37ee010e26ee413ebbf1080b"
            "c4bf55cdb5e8005537ee031e33ee010e71fe4d0fa3ec880e3ff7c4ae02b0bdec088bbde8f08f00bf"
        ),
    },
    "helium_gemm_8x1_eight_fixed": {
        ("thumbv8.1m.main",): (
            "2de9f04f2ded108b054689469b461346199955cdb5e8005599ed009e99ed10be99ed20de99ed30feb5ec103ef8ee220f"
            "b5ec105ef8ee242fb5ec103ef8ee224fb5ec105ef8ee246fb5ec103ef8ee228fb5ec105ef8ee24afb5ec103ef8ee22cf"
            "b5ec105ef8ee24efb5ec103efaee220fb5ec105efaee242fb5ec103efaee224fb5ec105efaee246fb5ec103efaee228f"
            "b5ec105efaee24afb5ec103efaee22cfb5ec105efaee24efb5ec103efcee220fb5ec105efcee242fb5ec103efcee224f"
            "b5ec105efcee246fb5ec103efcee228fb5ec105efcee24afb5ec103efcee22cfb5ec105efcee24efb5ec103efeee220f"
            "b5ec105efeee242fb5ec103efeee224fb5ec105efeee246fb5ec103efeee228fb5ec105efeee24afb5ec103efeee22cf"
            "b5ec105efeee24ef99ed401eb5ec103ef0ee220fb5ec105ef0ee242fb5ec103ef0ee224fb5ec105ef0ee246fb5ec103e"
            "f0ee228fb5ec105ef0ee24afb5ec103ef0ee22cfb5ec105ef0ee24ef99ed501eb5ec103ef0ee220fb5ec105ef0ee242f"
            "b5ec103ef0ee224fb5ec105ef0ee246fb5ec103ef0ee228fb5ec105ef0ee24afb5ec103ef0ee22cfb5ec105ef0ee24ef"
            "99ed601eb5ec103ef0ee220fb5ec105ef0ee242fb5ec103ef0ee224fb5ec105ef0ee246fb5ec103ef0ee228fb5ec105e"
            "f0ee24afb5ec103ef0ee22cfb5ec105ef0ee24ef99ed701eb5ec103ef0ee220fb5ec105ef0ee242fb5ec103ef0ee224f"
            "b5ec105ef0ee246fb5ec103ef0ee228fb5ec105ef0ee24afb5ec103ef0ee22cfb5ec105ef0ee24ef18ec000f95fc005f"
            "1cec140fb5fc205f1aec022f1bf001e824ee411e1eec162fbbf1080b37ee010e26ee413ec4bf55cdb5e8005537ee031e"
            "33ee010e71fe4d0fa3ec880e3ff7d4aebdec108bbde8f08f"
        ),
    },
    "helium_gemm_8x1_few_i32": {
        ("thumbv8.1m.main",): (
            "2de9f04f2ded108b0546ddf864b001eb03114ff040080ff2341703fb187747f001070ff22009a9eb830949f001091346"
            "484700bf11ed40fe11ed30de11ed20be11ed109e55cdb5e800553847b5ec103efeee220fb5ec105efeee242fb5ec103e"
            "feee224fb5ec105efeee246fb5ec103efeee228fb5ec105efeee24afb5ec103efeee22cfb5ec105efeee24efb5ec103e"
            "fcee220fb5ec105efcee242fb5ec103efcee224fb5ec105efcee246fb5ec103efcee228fb5ec105efcee24afb5ec103e"
            "fcee22cfb5ec105efcee24efb5ec103efaee220fb5ec105efaee242fb5ec103efaee224fb5ec105efaee246fb5ec103e"
            "faee228fb5ec105efaee24afb5ec103efaee22cfb5ec105efaee24efb5ec103ef8ee220fb5ec105ef8ee242fb5ec103e"
            "f8ee224fb5ec105ef8ee246fb5ec103ef8ee228fb5ec105ef8ee24afb5ec103ef8ee22cfb5ec105ef8ee24efbbf1080b"
            "55c3a3e800553ff775afbdec108bbde8f08f00bf"
        ),
    },
    "helium_gemm_8x1_i32": {
        ("thumbv8.1m.main",): (
            "2de9f04f2ded088b82b0ddf84cb005461c46a4f1010606f0070707f101074ff044080ff2482907fb189949f001094fea"
            "d60606f10106cde900968946134655cdb5e800554946019fddf800f0b1ec101eb5ec103ef0ee220fb5ec105ef0ee242f"
            "b5ec103ef0ee224fb5ec105ef0ee246fb5ec103ef0ee228fb5ec105ef0ee24afb5ec103ef0ee22cfb5ec105ef0ee24ef"
            "b1ec101eb5ec103ef0ee220fb5ec105ef0ee242fb5ec103ef0ee224fb5ec105ef0ee246fb5ec103ef0ee228fb5ec105e"
            "f0ee24afb5ec103ef0ee22cfb5ec105ef0ee24efb1ec101eb5ec103ef0ee220fb5ec105ef0ee242fb5ec103ef0ee224f"
            "b5ec105ef0ee246fb5ec103ef0ee228fb5ec105ef0ee24afb5ec103ef0ee22cfb5ec105ef0ee24efb1ec101eb5ec103e"
            "f0ee220fb5ec105ef0ee242fb5ec103ef0ee224fb5ec105ef0ee246fb5ec103ef0ee228fb5ec105ef0ee24afb5ec103e"
            "f0ee22cfb5ec105ef0ee24efb1ec101eb5ec103ef0ee220fb5ec105ef0ee242fb5ec103ef0ee224fb5ec105ef0ee246f"
            "b5ec103ef0ee228fb5ec105ef0ee24afb5ec103ef0ee22cfb5ec105ef0ee24efb1ec101eb5ec103ef0ee220fb5ec105e"
            "f0ee242fb5ec103ef0ee224fb5ec105ef0ee246fb5ec103ef0ee228fb5ec105ef0ee24afb5ec103ef0ee22cfb5ec105e"
            "f0ee24efb1ec101eb5ec103ef0ee220fb5ec105ef0ee242fb5ec103ef0ee224fb5ec105ef0ee246fb5ec103ef0ee228f"
            "b5ec105ef0ee24afb5ec103ef0ee22cfb5ec105ef0ee24efb1ec101eb5ec103ef0ee220fb5ec105ef0ee242fb5ec103e"
            "f0ee224fb5ec105ef0ee246fb5ec103ef0ee228fb5ec105ef0ee24afb5ec103ef0ee22cfb5ec105ef0ee24ef013f7ff4"
            "edae55c3a3e80055bbf1080bc4bf55cdb5e800553ff7deae02b0bdec088bbde8f08f00bf"
        ),
    },
    "helium_interleave": {
        ("thumbv8.1m.main",): (
            "2de9f04f85b004460d4616461f46dde90e12dde910384fea121ca3b94cf04dc0b4ec101eb5ec103eb6ec105eb7ec107e"
            "81fc011e81fc211e81fc411ea1fc611e0ff013c038e06846e0ee108b80ed001e5b0826bf04464ff000084ff010085b08"
            "26bf05464ff000094ff010095b0826bf06464ff0000a4ff0100a5b0826bf07464ff0000b4ff0100b4cf017c094ed001e"
            "95ed003e96ed005e97ed007e44444d4456445f4481fc011e81fc211e81fc411ea1fc611e0ff017c012f00f0213d002f0"
            "01e831fe4d2f94ed001e95ed003e96ed005e97ed007e81fc011e81fc211e81fc411ea1fc611e05b0bde8f08f"
        ),
    },
    "helium_repeat": {
        ("thumbv8.1m.main",): (
            "70b5022b0ad112f009c0b0fc880e98ff5005a1ec881e1ff009c070bd4ff0000405ee6e2f03ee633e4fea0316a6eb0306"
            "02f001e871fe4d0fb0ec101e43f001e071fe4d0f81ec020e01f101010ff009c03144103aecdc70bd"
        ),
    },
    "helium_depthwise_rows": {
        ("thumbv8.1m.main",): (
            "2de9f04f2ded108b85b0219ca4f10104a2ee104b4ff0000425ee6e0f20ff5206209c4fea840421ee641ea1f1100121ee"
            "410f8ded001f05468146174619461e9c239b049495e85500b5e80055b5ec109e95ed10be9ded007fddf87cb04fea8b0b"
            "27ee4b0fddf888b08ded001fb6fd04defcee280fb8ff5ce095ed0c5ffeee288f96fd02defcee2a4fb8ff5ce0b5ec209e"
            "feee2acf96fd01de14ec000ffcee282fb8ff5ce0b5ec20befeee28af96fd03de1cec082ffcee2a6fb8ff5ce02bf001e8"
            "feee2aefbbf1040b16ec120f59ead5851eec1a2fbbff40062498ecee100b00ff540dbbff422695e85500bbff400102ff"
            "542db5e8005537ee010ebbff4221b5ec109e37ee031e95ed10be10ee630f33ee010e00ef4c06b0ff502031fe4d8fa7ec"
            "040fa1ec042fa1dc5f445944ddf810b0bbf1010bcdf810b08cdc05b0bdec108bbde8f08f"
        ),
    },
    "helium_depthwise_pixels": {
        ("thumbv8.1m.main",): (
            "2de9f04f2ded108b85b0209ca4f10104a2ee104b4ff0000425ee6e0f20ff52061f9c4fea840421ee641ea1f1100121ee"
            "410f8ded001f0546814617461c46229b049495e85500b5e80055b5ec109e95ed10be9ded007f1e994fea810127ee410f"
            "21ee410f8ded001fddf810b0bbf1010fddf884b00cbf0021bb4427ee41ef57ea0b81ddf884b0b6fd04defcee280fbefd"
            "04defcee288f95ed0c5f96fd02defcee2a4f9efd02defcee2acfb5ec209e96fd01de14ec000ffcee282f9efd01defcee"
            "28afb5ec20be96fd03de1cec082ffcee2a6f9efd03defcee2aef2bf001e8bbf1040b16ec120f59ead5851eec1a2fbbff"
            "40062398ecee100b00ff540dbbff422695e85500bbff400102ff542db5e8005537ee010ebbff4221b5ec109e37ee031e"
            "95ed10be10ee630f33ee010e00ef4c06b0ff502031fe4d8fa7ec040fa1ec042fa1dc01eb0b0704990239049181dc05b0"
            "bdec108bbde8f08f"
        ),
    },
    "helium_depthwise_rows_fixed": {
        ("thumbv8.1m.main",): (
            "2de9f04f2ded108b85b0219ca4f10104a2ee104b4ff0000425ee6e0f20ff5206209c4fea840421ee641ea1f1100121ee"
            "410f8ded001f05468146174619461e9c239b049495e85500b5e80055b5ec109e95ed10be9ded007fddf87cb04fea8b0b"
            "27ee4b0fddf888b08ded001fb6fd04de2bf001e8bbf1040bfcee280f95ed0c5fb8ff5ce096fd02defeee288fb8ff5ce0"
            "fcee2a4fb5ec209e14ec000f96fd01defeee2acfb8ff5ce0feee28afb5ec20befcee282f96fd03de1cec082ffcee2a6f"
            "59ead58516ec120f24ee431eb8ff5ce0feee2aef37ee010e95e855001eec1a2f24ee433eb5e8005537ee031eb5ec109e"
            "33ee010e95ed10beb0ff502031fe4d8fa7ec040fa1ec042fb0dc5f445944ddf810b0bbf1010bcdf810b09bdc05b0bdec"
            "108bbde8f08f00bf"
        ),
    },
    "helium_depthwise_pixels_fixed": {
        ("thumbv8.1m.main",): (
            "2de9f04f2ded108b84b01f9ca4f10104a2ee104b4ff0000425ee6e0f20ff5206dde91d944fea840421ee641e21ee410f"
            "8ded001f05469246a3f101014fea8909dde9208ca8f101034fea9303a8eb830b0aeb830a03eb430405eb44154fea0313"
            "9ded007f574695ed109e27ee436f95e8550096fd001e2bf001e8f0ee280f95ed20be96fd011ef0ee2a2f95ed30de96fd"
            "021ef0ee2c4f95ed40fe96fd031ef0ee2e6f95ed145f27ee496f41f023c896fd001e14ec002f16ec122f95e85500f0ee"
            "280f96fd011e24ee4c3ef0ee2a2f96fd021e37ee032ef0ee2c4f33ee032e96fd031e27ee496ff0ee2e6f87ed002f4744"
            "0ff023c814ec002f16ec122f24ee4c3ea5f1600537ee032eaaf1040a33ee032e4ff0040b103b71fe4d0f87ed002f7ff5"
            "9faf04b0bdec108bbde8f08f"
        ),
    },
    "helium_depthwise_pixels_twice_fixed": {
        ("thumbv8.1m.main",): (
            "2de9f04f2ded108b84b01f9ca4f10104a2ee104b4ff0000425ee6e0f20ff5206dde91d944fea840421ee641e21ee410f"
            "8ded001f05469246a3f101014fea8909dde9208ca8f101034fea9303a8eb830b0aeb830a03eb430405eb44154feac303"
            "9ded007f574695ed109e27ee436f95e8550096fd001e2bf001e8f0ee280f95ed20bef0ee2a2f95ed30de96fd011ef0ee"
            "2c4f95ed40fef0ee2e6f95ed145f27ee496f41f01fc814ec002f96fd001e16ec122f24ee4c3e37ee032e95e8550033ee"
            "032ef0ee280f87ed002ff0ee2a2f96fd011e27ee496ff0ee2c4f4744f0ee2e6f0ff01fc814ec002f16ec122f24ee4c3e"
            "a5f1600537ee032eaaf1040a33ee032e4ff0040b083b71fe4d0f87ed002f7ff5a7af04b0bdec108bbde8f08f"
        ),
    },
    "helium_depthwise_pixels_four_fixed": {
        ("thumbv8.1m.main",): (
            "2de9f04f2ded108b84b01f9ca4f10104a2ee104b4ff0000425ee6e0f20ff5206dde91d944fea840421ee641e21ee410f"
            "8ded001f05469246a3f101014fea8909dde9208ca8f101034fea9303a8eb830b0aeb830a03eb430405eb44154fea8303"
            "9ded007f574695ed109e27ee436f95e8550096fd001e2bf001e8f0ee280f95ed20bef0ee2a2f95ed30def0ee2c4f95ed"
            "40fef0ee2e6f95ed145f27ee496f41f01dc814ec002f96fd001e16ec122f24ee4c3e27ee496f95e8550037ee032ef0ee"
            "2c4f33ee032ef0ee2e6f87ed002ff0ee280f4744f0ee2a2f0ff01dc814ec002f16ec122f24ee4c3ea5f1600537ee032e"
            "aaf1040a33ee032e4ff0040b043b71fe4d0f87ed002f7ff5abaf04b0bdec108bbde8f08f"
        ),
    },
    "helium_depthwise_windows": {
        ("thumbv8.1m.main",): (
            "2de9f04f2ded108b89b0cde906010892249e0596dde925470497279f4fea8404012e04bf00240027089acde90024cde9"
            "0237069ddde9001995e85500b5e80055079bddf888b0b3ec047f27ee416fb5ec109e27ee49efb5ec10be96fd00defcee"
            "280f9efd00defcee288fb5ec109e96fd01defcee2a2f9efd01defcee2aafb5ec10be96fd02defcee284f9efd02defcee"
            "28cfbbf1010b96fd03defcee2a6f9efd03defcee2aefced1b5ec045fdde92831ecee101b14ec000f16ec120fbbff4006"
            "1cec082f00ff540d1eec1a2fbbff4001bbff422637ee010e02ff542dbbff422137ee031edde9027910ee630fddf810b0"
            "33ee010e00ef4c06b0ff50202bf001e807eb090031fe4d8f80ed002fa7ec040f0099029701f110010091bbf1040bcdf8"
            "10b03ff787af07eb0b03dde925472799a3eb070303eb4103089901ebc4010891059e023e3ff765af09b0bdec108bbde8"
            "f08f00bf"
        ),
    },
    "helium_depthwise_windows_fixed": {
        ("thumbv8.1m.main",): (
            "2de9f04f2ded108b89b0cde906010892249e0596dde925470497279f4fea8404012e04bf00240027089acde90024cde9"
            "0237069ddde9001995e85500b5e80055079bddf888b0b3ec047f27ee416fb5ec109e27ee49efb5ec10be96fd00defcee"
            "280f9efd00defcee288fb5ec109e96fd01defcee2a2f9efd01defcee2aafb5ec10be96fd02defcee284f9efd02defcee"
            "28cfbbf1010b96fd03defcee2a6f9efd03defcee2aefced1b5ec045f289b14ec000f16ec120f1cec082f24ee431e1eec"
            "1a2f37ee010e24ee433e37ee031edde90279ddf810b033ee010eb0ff50202bf001e807eb090031fe4d8f80ed002fa7ec"
            "040f0099029701f110010091bbf1040bcdf810b03ff796af07eb0b03dde925472799a3eb070303eb4103089901ebc401"
            "0891059e023e3ff774af09b0bdec108bbde8f08f"
        ),
    },
    "helium_gru": {
        ("thumbv8.1m.main",): (
            "2de9f0432ded108bdde9174cdde9196804f10205c8f11708a8f101074ff0804947f6ff7ecef1000eacee10eb4fea9c0c"
            "4cf0a1c0b1ec04ffb3ec047f39ee66fe2fee07eeb2ec043fb3ec047f23ee072eb3ec047f2eef46e82eef4208b9ff4023"
            "b1ec04ff39fee73ea9ff526094fc174fa9ef522595fc178f39ee66fe28ff5482b3ec047f29fe039e2fee07eeb2ec043f"
            "24ef4848b3ec047f61fecf1fb9ffc44323ee072eb3ec047f22ef4628b3ec047faeef544525ee494f22ef442b2eef46e8"
            "2eef4208b9ff4023b1ec04ff39fee83ea9ff526094fc174fa9ef522595fc178f39ee66fe28ff5482b3ec047f29fe039e"
            "2fee07eeb2ec043f24ef4848b3ec047f61fecf1fb9ffc44323ee072eb3ec047fabef54a52eef46e82eef4208b9ff4023"
            "98ed00ef39fee73ea9ff526094fc174fa9ef522595fc178facef5ee528ff548229fe039e2eff4ae824ef484861fecf1f"
            "b9ffc443aeef544525ee494f2eef440b20ef4a08b4ef500220ef4c06a8ec040f0ff0a1c0bdec108bbde8f083"
        ),
    },
    "helium_lstm": {
        ("thumbv8.1m.main",): (
            "2de9f0472ded108bdde918a4dde91ac6ddf8708004f10205c8f11708a8f101074ff08049a9f1010eacee10eb4fea9c0c"
            "4cf0e9c0b2ec04ffbaec047f39ee66fe2fee07eeb3ec043fbaec047f23ee072ebaec047f2eef46e82eef4208b9ff4023"
            "b2ec04ff39fee73ea9ff526094fc174fa9ef522595fc178f39ee66fe28ff5482baec047f29fe039e2fee07eeb3ec043f"
            "24ef4848baec047f61fecf1fb9ffc44323ee072ebaec047faeef544525ee49af2eef46e82eef4208b9ff4023b2ec04ff"
            "39fee83ea9ff526094fc174fa9ef522595fc178f39ee66fe28ff5482baec047f29fe039e2fee07eeb3ec043f24ef4848"
            "baec047f61fecf1fb9ffc44323ee072ebaec047fadef544524ef4a4b2eef46e82eef4208b7ef54a2b9ff402391ed00ff"
            "39fee73ea9ff526094fc174fa9ef522595fc178f28ff548229fe039e24ef484861fecf1fb9ffc443aeef544525ee494f"
            "2eef44ebb9ffcc232eef4a0820ef5c0620ef4206a1ec041fb9ff4023b2ec04ffa9ff5227a9ff526094fc174fa9ef5225"
            "95fc178f39ee66fe28ff5482baec047f29fe039e2fee07eeb3ec043f24ef4848baec047f61fecf1fb9ffc44323ee072e"
            "baec047fadef54a52eef46e82eef4208b9ff402339fee73ea9ff526094fc174fa9ef522595fc178f28ff548229fe039e"
            "24ef484861fecf1fb9ffc443aeef544525ee494f24ef4a4bb2ef5442a8ec044f0ff0e9c0bdec108bbde8f087"
        ),
    },
    "helium_product": {
        ("thumbv8.1m.main",): (
            "2de9f04f2ded108b84b005469246dde91e9bdde9204604fb06f000fb03f0cde90010594680ef506003f001e871fe4d0f"
            "e6ee106bdde9226ca4ee106b209ee2ee106b95ed109ef8ee020f95ed20befaee022f95ed30defcee024f95ed40fefeee"
            "026fdde900385746a8eb0000a8eb0202a8eb0404a8eb060685e8550093ed001e2bf001e8ddf874e0f0ee280ff0ee2a2f"
            "f0ee2c4ff0ee2e6ff0ee068f4b44bef1010e4ef023c014ec002f93ed001e16ec122f95e8550023ee483ff0ee068f4b44"
            "f0ee280f24ee4c3ef0ee2a2f37ee032ef0ee2c4f33ee032ef0ee2e6f71fe4d0f87ed002f0f440ff023c014ec002f16ec"
            "122f23ee483f05f1500524ee4c3e0af1040a37ee032ebbf1040b33ee032e71fe4d0f87ed002f3ff791af04b0bdec108b"
            "bde8f08f"
        ),
    },
    "helium_softmax": {
        ("thumbv8.1m.main",): (
            "2de9f04704466ff07f0503f007c0b4ec101ee2ee005f1ff007c0a4ee105b04464ff0000623f00bc0b4ec040f24ff4008"
            "91fc412ff9fe226f1ff00bc0dde90878a6fb079a19f100494af1000ab8fbfaf606fb1a88dde90a79ddf830c0c9f10009"
            "47f00bc04fea0828b8fbfaf707fb1a8807eb06260ff00bc0a6ee106b23f015c0b0ec040f24ff400891fc412f23ee072e"
            "23ee4c2f39ee693e37ee032e33ee032ea2ec042f1ff015c0bde8f087"
        ),
    },
    "helium_tanh": {
        ("thumbv8.1m.main",): (
            "10b52ded0c8b4ff4007c0cfa03fcacf1010ca8ee10cb4ff0010404fa03f4a4f1010caaee10cb4fea5404c3f1000301f1"
            "020c22f021c090ed001fb9ff402322ff582602ef5a6139ee633e91fc134f9cfc13cf2cff44c82cef56c92dee44cf39ee"
            "63de2cef44c861fecf1fb9ffccc3a0ec04df1ff021c0bdec0c8b10bd"
        ),
    },
    "helium_depthwise_taps": {
        ("thumbv8.1m.main",): (
            "2de9f0472ded108bdde91845dde91a67ddf870808246c8f1000807f00f0927f00f0ca6eb0c064fea1717504647f059c0"
            "b1ec101eb0ec243f01ee024eb3ec107e01ee021e10ed1c3f07ee028e10ed20bf07ee023eb2ec107e07ee0ace10ed18ff"
            "07ee0a7e14ef4c4819ee0eae10ef460815ee0e6e10ed04df26ef4a6819ee0e9e10ed14bf15ee0e5e10ed08ff24ef4848"
            "10ed109f26ef5a6010ed0cbf24ef584011ee0a8eb0ff564413ee0a6e35ee685e11ee0a1e28ef466813ee0a3e26ef5e60"
            "20ef420833ee054e20ef5c00b0ff560435ee681e33ee015ea4ec105e0ff059c0b9f1000f60d009f001e871fe4d0f91ed"
            "001eb0ec243f01ee024e71fe4d0f93ed007e01ee021e10ed1c3f07ee028e10ed20bf07ee023e71fe4d0f92ed007e07ee"
            "0ace10ed18ff07ee0a7e14ef4c4819ee0eae10ef460815ee0e6e10ed04df26ef4a6819ee0e9e10ed14bf15ee0e5e10ed"
            "08ff24ef484810ed109f26ef5a6010ed0cbf24ef584011ee0a8eb0ff564413ee0a6e35ee685e11ee0a1e28ef466813ee"
            "0a3e26ef5e6020ef420833ee054e20ef5c00b0ff560435ee681e33ee015e71fe4d0f84ed005e4c44314432443344013d"
            "3ff73bafbdec108bbde8f087"
        ),
    },
    "helium_depthwise_taps_halfword_5": {
        ("thumbv8.1m.main",): (
            "2de9f04f2ded108b88b0dde9217adde923bccde9041201eb0b0402eb0b0503eb0b0607eb0c084fea1c1ecde9000e0cf0"
            "0f0e2cf00f00c0eb4b0bf444cde902ec0693baf1020ac0f28880dde9000e4ff0000c4ef075c0b1ec101eb0ec243f01ee"
            "024eb4ec10de01ee027ee2ee10ca0dee028e10ed14ff0dee02be14ef4e4810ed08df18ef4e88b2ec101e16ef4c6810ed"
            "203f1aef4ca801ee02ce01ee02fe14ef5c40b5ec101e01ee02ce16ef5e6001ee02feb3ec101e18ef5c8010ed1c3f1aef"
            "5ea001ee02ce01ee02fe14ef5c40b6ec101e01ee02ce16ef5e6001ee02fe10ed101f18ef5c8010ed183f1aef5ea0f2ee"
            "10ca1cf0006f40f0d98014ef424b10ed0cdf18ef428b14ef504016ef4c6b18ef508010ed04ff8bee454f1aef4cab16ef"
            "5e601aef5ea08bee475f8bee498fa7ec105e8bee4b9fa8ec109e0ff075c0ddf80cc059445a445b445c445d445e446744"
            "e044baf1020abff678af1af1020a78d04ff0010b0098ddf890a00af001e871fe4d0f91ed001eb0ec243f01ee024e10ed"
            "20bf01ee027e71fe4d0f92ed009e09ee0ace71fe4d0f93ed001e09ee0afe10ed1c3f14ef4c4801ee028e16ef4e6810ed"
            "14df01ee02be10ed08ff18ef4c8810ed18df1aef4ea815ee0c0e19ee0c2e15ee0c5e20ef420819ee0c3e20ef500024ef"
            "424824ef5440b0ff504410ed0cdf17ee0c0e1bee0c2e17ee0c7e20ef42081bee0c3e20ef500026ef426826ef5660b0ff"
            "506410ed10df10ed04ff14ef5c4016ef5e608bee454f8bee475f71fe4d0f87ed005ebbf1010f2bd349d801f1100102f1"
            "100203f1100307f11007baf1100a3ff78cafdde9217adde9235626f00f0cb6eb0c081ed03af0010a1bd0dde90412069b"
            "dde9004e4ff090000efb0044614462446344674408f001e84ff0000b20466ee7204629442a442b443744baf1010a3ff7"
            "66af08b0bdec108bbde8f08f2de98e084ff0100c0cf001e84ff0020ba0f19000a1f11001a2f11002a3f110034fe7bbf1"
            "020f0bd1a0f19000a4f11001a5f11002a6f1100347464ff0030b40e7bde88e0807f1100708f110084ff0000c0ff055c9"
            "1de700bf"
        ),
    },
    "helium_depthwise_taps_halfword_6": {
        ("thumbv8.1m.main",): (
            "2de9f04f2ded108b88b0dde9217adde923bccde9041201eb0b0402eb0b0503eb0b0607eb0c084fea1c1ecde9000e0cf0"
            "0f0e2cf00f00c0eb4b0bf444cde902ec0693baf1020ac0f28880dde9000e4ff0000c4ef075c0b1ec101eb0ec243f01ee"
            "024eb4ec10de01ee027ee2ee10ca0dee028e10ed14ff0dee02be14ef4e4810ed08df18ef4e88b2ec101e16ef4c6810ed"
            "203f1aef4ca801ee02ce01ee02fe14ef5c40b5ec101e01ee02ce16ef5e6001ee02feb3ec101e18ef5c8010ed1c3f1aef"
            "5ea001ee02ce01ee02fe14ef5c40b6ec101e01ee02ce16ef5e6001ee02fe10ed101f18ef5c8010ed183f1aef5ea0f2ee"
            "10ca1cf0006f40f0d98014ef424b10ed0cdf18ef428b14ef504016ef4c6b18ef508010ed04ff8aee454f1aef4cab16ef"
            "5e601aef5ea08aee475f8aee498fa7ec105e8aee4b9fa8ec109e0ff075c0ddf80cc059445a445b445c445d445e446744"
            "e044baf1020abff678af1af1020a78d04ff0010b0098ddf890a00af001e871fe4d0f91ed001eb0ec243f01ee024e10ed"
            "20bf01ee027e71fe4d0f92ed009e09ee0ace71fe4d0f93ed001e09ee0afe10ed1c3f14ef4c4801ee028e16ef4e6810ed"
            "14df01ee02be10ed08ff18ef4c8810ed18df1aef4ea815ee0c0e19ee0c2e15ee0c5e20ef420819ee0c3e20ef500024ef"
            "424824ef5440b0ff504410ed0cdf17ee0c0e1bee0c2e17ee0c7e20ef42081bee0c3e20ef500026ef426826ef5660b0ff"
            "506410ed10df10ed04ff14ef5c4016ef5e608aee454f8aee475f71fe4d0f87ed005ebbf1010f2bd349d801f1100102f1"
            "100203f1100307f11007baf1100a3ff78cafdde9217adde9235626f00f0cb6eb0c081ed03af0010a1bd0dde90412069b"
            "dde9004e4ff090000efb0044614462446344674408f001e84ff0000b20466ee7204629442a442b443744baf1010a3ff7"
            "66af08b0bdec108bbde8f08f2de98e084ff0100c0cf001e84ff0020ba0f19000a1f11001a2f11002a3f110034fe7bbf1"
            "020f0bd1a0f19000a4f11001a5f11002a6f1100347464ff0030b40e7bde88e0807f1100708f110084ff0000c0ff055c9"
            "1de700bf"
        ),
    },
    "helium_depthwise_taps_halfword_7": {
        ("thumbv8.1m.main",): (
            "2de9f04f2ded108b88b0dde9217adde923bccde9041201eb0b0402eb0b0503eb0b0607eb0c084fea1c1ecde9000e0cf0"
            "0f0e2cf00f00c0eb4b0bf444cde902ec0693baf1020ac0f28880dde9000e4ff0000c4ef075c0b1ec101eb0ec243f01ee"
            "024eb4ec10de01ee027ee2ee10ca0dee028e10ed14ff0dee02be14ef4e4810ed08df18ef4e88b2ec101e16ef4c6810ed"
            "203f1aef4ca801ee02ce01ee02fe14ef5c40b5ec101e01ee02ce16ef5e6001ee02feb3ec101e18ef5c8010ed1c3f1aef"
            "5ea001ee02ce01ee02fe14ef5c40b6ec101e01ee02ce16ef5e6001ee02fe10ed101f18ef5c8010ed183f1aef5ea0f2ee"
            "10ca1cf0006f40f0d98014ef424b10ed0cdf18ef428b14ef504016ef4c6b18ef508010ed04ff89ee454f1aef4cab16ef"
            "5e601aef5ea089ee475f89ee498fa7ec105e89ee4b9fa8ec109e0ff075c0ddf80cc059445a445b445c445d445e446744"
            "e044baf1020abff678af1af1020a78d04ff0010b0098ddf890a00af001e871fe4d0f91ed001eb0ec243f01ee024e10ed"
            "20bf01ee027e71fe4d0f92ed009e09ee0ace71fe4d0f93ed001e09ee0afe10ed1c3f14ef4c4801ee028e16ef4e6810ed"
            "14df01ee02be10ed08ff18ef4c8810ed18df1aef4ea815ee0c0e19ee0c2e15ee0c5e20ef420819ee0c3e20ef500024ef"
            "424824ef5440b0ff504410ed0cdf17ee0c0e1bee0c2e17ee0c7e20ef42081bee0c3e20ef500026ef426826ef5660b0ff"
            "506410ed10df10ed04ff14ef5c4016ef5e6089ee454f89ee475f71fe4d0f87ed005ebbf1010f2bd349d801f1100102f1"
            "100203f1100307f11007baf1100a3ff78cafdde9217adde9235626f00f0cb6eb0c081ed03af0010a1bd0dde90412069b"
            "dde9004e4ff090000efb0044614462446344674408f001e84ff0000b20466ee7204629442a442b443744baf1010a3ff7"
            "66af08b0bdec108bbde8f08f2de98e084ff0100c0cf001e84ff0020ba0f19000a1f11001a2f11002a3f110034fe7bbf1"
            "020f0bd1a0f19000a4f11001a5f11002a6f1100347464ff0030b40e7bde88e0807f1100708f110084ff0000c0ff055c9"
            "1de700bf"
        ),
    },
    "helium_depthwise_taps_halfword_8": {
        ("thumbv8.1m.main",): (
            "2de9f04f2ded108b88b0dde9217adde923bccde9041201eb0b0402eb0b0503eb0b0607eb0c084fea1c1ecde9000e0cf0"
            "0f0e2cf00f00c0eb4b0bf444cde902ec0693baf1020ac0f28880dde9000e4ff0000c4ef075c0b1ec101eb0ec243f01ee"
            "024eb4ec10de01ee027ee2ee10ca0dee028e10ed14ff0dee02be14ef4e4810ed08df18ef4e88b2ec101e16ef4c6810ed"
            "203f1aef4ca801ee02ce01ee02fe14ef5c40b5ec101e01ee02ce16ef5e6001ee02feb3ec101e18ef5c8010ed1c3f1aef"
            "5ea001ee02ce01ee02fe14ef5c40b6ec101e01ee02ce16ef5e6001ee02fe10ed101f18ef5c8010ed183f1aef5ea0f2ee"
            "10ca1cf0006f40f0d98014ef424b10ed0cdf18ef428b14ef504016ef4c6b18ef508010ed04ff88ee454f1aef4cab16ef"
            "5e601aef5ea088ee475f88ee498fa7ec105e88ee4b9fa8ec109e0ff075c0ddf80cc059445a445b445c445d445e446744"
            "e044baf1020abff678af1af1020a78d04ff0010b0098ddf890a00af001e871fe4d0f91ed001eb0ec243f01ee024e10ed"
            "20bf01ee027e71fe4d0f92ed009e09ee0ace71fe4d0f93ed001e09ee0afe10ed1c3f14ef4c4801ee028e16ef4e6810ed"
            "14df01ee02be10ed08ff18ef4c8810ed18df1aef4ea815ee0c0e19ee0c2e15ee0c5e20ef420819ee0c3e20ef500024ef"
            "424824ef5440b0ff504410ed0cdf17ee0c0e1bee0c2e17ee0c7e20ef42081bee0c3e20ef500026ef426826ef5660b0ff"
            "506410ed10df10ed04ff14ef5c4016ef5e6088ee454f88ee475f71fe4d0f87ed005ebbf1010f2bd349d801f1100102f1"
            "100203f1100307f11007baf1100a3ff78cafdde9217adde9235626f00f0cb6eb0c081ed03af0010a1bd0dde90412069b"
            "dde9004e4ff090000efb0044614462446344674408f001e84ff0000b20466ee7204629442a442b443744baf1010a3ff7"
            "66af08b0bdec108bbde8f08f2de98e084ff0100c0cf001e84ff0020ba0f19000a1f11001a2f11002a3f110034fe7bbf1"
            "020f0bd1a0f19000a4f11001a5f11002a6f1100347464ff0030b40e7bde88e0807f1100708f110084ff0000c0ff055c9"
            "1de700bf"
        ),
    },
    "helium_depthwise_nine_halfword": {
        ("thumbv8.1m.main",): (
            "2de9f04f2ded108b86b0ddf8a4b0cbf10f0b4ff0010c0cfa0bfbdde92645289e4fea161ecde9000e06f00f0726f00f06"
            "a5eb0605cde9027504940df17c0c9ce8f007dde9000e4ff0000c4ef095c0b1ec101eb0ec3c3fe2ee10ca01ee024eb2ec"
            "109e01ee027e10ed14df14ef4c4810ed08ff16ef4e6810ed38bf09ee0aceb3ec101e09ee0afe14ef5c4010ed343f16ef"
            "5e6001ee02ceb4ec109e01ee02fe14ef5c4010ed30bf16ef5e6009ee0aceb5ec101e09ee0afe14ef5c4010ed2c3f16ef"
            "5e6001ee02ceb6ec109e01ee02fe14ef5c4010ed28bf16ef5e6009ee0aceb7ec101e09ee0afe14ef5c4010ed243f16ef"
            "5e6001ee02ceb8ec109e01ee02fe14ef5c4010ed20bf16ef5e6009ee0aceb9ec101e09ee0afe14ef5c4010ed1c3f16ef"
            "5e6001ee02ce10ed189f01ee02fe14ef5c4010ed0cbf16ef5e60f2ee10ca10ed10df1cf0006f40f0398014ef484b10ed"
            "04ff16ef4a6b14ef5c4016ef5e6015fe6b4e17fe6b6e33ee054e33ee075eaaec105e0ff095c0ddf808c0bcf1000f40f0"
            "1880ddf80cc06144624463446444654466446744e044e144ddf810c0bcf1010ccdf810c03ff74daf06b0bdec108bbde8"
            "f08f0cf001e84ff0000c05e04ff0100ca0f1f0000cf001e82de9fe4390ed28df90ed34ffb0ee4c4fb0ee4c7fb0ee4e8f"
            "b0ee4ebf69464ff0090351f8042ba2eb0c0271fe4d0f92ed001eb0ec043f01ee02ce01ee02feb0ee4c0fb0ee4c3f24ef"
            "4048b0ee4e0f26ef4268b0ee4e3f28ef40882aef42a8013bdfdc90ed001fb0ee402fb0ee401fb0ef5225b0ef500524ef"
            "424b26ef406b37ee054e37ee075e90ed0c1fb0ee402fb0ee401fb0ef5225b0ef500528ef428b2aef40ab37ee098e37ee"
            "0b9e90ed081f90ed143f14ef504018ef528015fe6b4e19fe6b8e00f1600033ee054e33ee095e71fe4d0f8aed005ebde8"
            "fe43bcf1000f06d00af1100a4ff0000c0ff033c95fe7ddf808c0e24461e700bf"
        ),
    },
    "helium_window_sums": {
        ("thumbv8.1m.main",): (
            "2de9f04f89b00ff2dc0b02fb03fcabebcc0b0bf1090bbcf1070cc8bfabebcc0bdde912456e460746984646f8047b2f44"
            "b8f10108f9d12044013af4d10f46dde918caa6ee10cb9de87f00dde90798a8eb0608a9eb0609dde915ce4fea4e0ecdf8"
            "58e0cdf804e00ef1070e2ef0070eaceb0e0ccdf800c0ddf804c0aceb0e0ccdf804c0dde916ec1ef03fc8b0ec880e11ee"
            "4c0f584706eb080696ed802ea6eb080610ef420806eb090696ed802ea6eb090610ef4208b6ec882e10ef4208b5ec882e"
            "10ef4208b4ec882e10ef4208b3ec882e10ef4208b2ec882e10ef4208b1ec882e10ef4208b0ee402fb0ee405f26ee4a3e"
            "26ee4a5e37ee032e37ee053e33ee032ea7ec882e1ff03fc8dde900ce60446144624463446444654466447744ddf850c0"
            "bcf1010ccdf850c0abd109b0bde8f08f"
        ),
    },
    "helium_interpolate": {
        ("thumbv8.1m.main",): (
            "2de9f04f2ded048b85b0d2e90045cde90001cde90245149a03ebc20214921a46dde91230dde918c1a6ee10cb169c4fea"
            "4404169404f1070525f00705a4eb05040494f2e80245dde915ca644554ea9c84654555ea9c85dde9008904fb0a9605fb"
            "0a9704fb0a8405fb0a85f3e8029bdde902ce0cfb09f80cfb0bfc0efb09f90efb0bfba8ee308bddf85c801af023c0b4ec"
            "880e19ee481eb5ec882e13ee4c0eb6ec884e15ee490eb7ec882e13ee4b0eb0ee402fb0ee405f26ee413e26ee415e37ee"
            "032e37ee053e33ee032ea0ec882e1ff023c0ddf810c06044ddf850c06245b0d105b0bdec048bbde8f08f00bf"
        ),
    },
    "byte_sums": {
        ("thumbv7em", "thumbv8m.main"): (
            "f0b54ff000034ff0000c4ff00117103a39db50f8044b2ffa84f52ffa94f625fb05cc26fb06cc95fa06f525fb073350f8"
            "044b2ffa84f52ffa94f625fb05cc26fb06cc95fa06f525fb073350f8044b2ffa84f52ffa94f625fb05cc26fb06cc95fa"
            "06f525fb073350f8044b2ffa84f52ffa94f625fb05cc26fb06cc95fa06f525fb0733103ac5da0c320fdb50f8044b2ffa"
            "84f52ffa94f625fb05cc26fb06cc95fa06f525fb0733043aefda043206d010f9014b234404fb04cc013af8d1c1e9003c"
            "f0bd00bf"
        ),
        ("thumbv8.1m.main",): (
            "10b54ff000044ff0000c02f009c0b0ec101ef1ee204ff0ee20cf1ff009c0c1e9004c10bd"
        ),
    },
    "channel_sums": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04fddf824c09e46804691464ff000044ff000054ff000064ff00007d8f800a0d8f804b0984424fa8af425fa9af5"
            "26fa8bf627fa9bf7b9f10109efd10cfa84f80cfa85f90ceb244a0ceb254ba1e8000f0cfa86f80cfa87f90ceb264a0ceb"
            "274ba1e8000f00f10800bef1080eccdcbde8f08f"
        ),
    },
    "winograd_input": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04f01eb42249200d500043d45ec104a01f1100401ee104a02eb420302eb820c4fea4c0c00eb4c00046850f802e0"
            "50f81260c758a0eb4c002ffa84f42ffa8efe2ffa86f62ffa87f7defa07f7d4fa06f49efa06f5d6fa0ef6d0f8008050f8"
            "02e050f812a050f803b060442ffa88f82ffa8efe2ffa8afa2ffa8bfbdefa0bfbd8fa0af89efa0af9dafa0efad8fa04f8"
            "c1f85080d9fa05f9c1f84090dafa06fac1f860a0dbfa07fbc1f870b0d0f8008050f802e050f812a050f803b000eb4c00"
            "2ffa88f82ffa8efe2ffa8afa2ffa8bfbdefa0bfbd8fa0af89efa0af9dafa0efa98fa04fec1f810e0d4fa08f4c1f89040"
            "99fa05fec1f800e0d5fa09f5c1f880509afa06fec1f820e0d6fa0af6c1f8a0609bfa07fec1f830e0d7fa0bf7c1f8b070"
            "046850f802e050f81260c758a0eb0c002ffa84f42ffa8efe2ffa86f62ffa87f7defa07f7d4fa06f49efa06f5d6fa0ef6"
            "d8fa04f8c1f8d080d9fa05f9c1f8c090dafa06fac1f8e0a0dbfa07fbc1f8f0b0046850f802e050f81260c758a0eb4c00"
            "2ffa94f42ffa9efe2ffa96f62ffa97f7defa07f7d4fa06f49efa06f5d6fa0ef6d0f8008050f802e050f812a050f803b0"
            "60442ffa98f82ffa9efe2ffa9afa2ffa9bfbdefa0bfbd8fa0af89efa0af9dafa0efad8fa04f8c1f85081d9fa05f9c1f8"
            "4091dafa06fac1f860a1dbfa07fbc1f870b1d0f8008050f802e050f812a050f803b000eb4c002ffa98f82ffa9efe2ffa"
            "9afa2ffa9bfbdefa0bfbd8fa0af89efa0af9dafa0efa98fa04fec1f810e1d4fa08f4c1f8904199fa05fec1f800e1d5fa"
            "09f5c1f880519afa06fec1f820e1d6fa0af6c1f8a0619bfa07fec1f830e1d7fa0bf7c1f8b071046850f802e050f81260"
            "c758a0eb0c002ffa94f42ffa9efe2ffa96f62ffa97f7defa07f7d4fa06f49efa06f5d6fa0ef6d8fa04f8c1f8d081d9fa"
            "05f9c1f8c091dafa06fac1f8e0a1dbfa07fbc1f8f0b100eb4200043111ee104aa1427ff4b2ae01f5f87104f5007401ee"
            "104a55ec104a401ba1427ff4a6aebde8f08f00bf"
        ),
    },
    "winograd_filter": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04f1201f0e80234e1e802348b1843ec302a002301ee903a90e8fc072ffa82f22ffa83f32ffa84f42ffa85f52ffa"
            "86f62ffa87f72ffa88f82ffa89f92ffa8afa00ee100a92fa08fbdbfa05fe9bfa05fb92fa02f298fa08f893fa09f5d5fa"
            "06fc95fa06f593fa03f399fa09f994fa0af6d6fa07f796fa06f6d6fa07f694fa04f49afa0afa10ee900a02ee10aa9bfa"
            "06fa9bfa0bfb41f800b09afa05fbc1f800b001eb4001dafa05f50d6096fa06f60e5001eb400192fa04fb92fa02f20a50"
            "9bfa03f20a6001eb4001dbfa03f30b6094fa04f40c5001eb40019efa07f29efa0efe41f800e092fa0cfec1f800e001eb"
            "4001d2fa0cfcc1f800c097fa07f70f5001eb400112ee10aa98fa0af298fa08f841f8008092fa09f8c1f8008001eb4001"
            "d2fa09f9c1f800909afa0afa41f800a001eb4001a1eb001153ec112a10ee100a93f0010301ee903a1cbf083100f014b8"
            "043911f0040f7ff460af083191427ff45caf10ee902ac2eb02121144d0e90034c1e90034bde8f08fb0e8fc072ffa92f2"
            "2ffa93f32ffa94f42ffa95f52ffa96f62ffa97f72ffa98f82ffa99f92ffa9afafff74fbf"
        ),
    },
    "winograd_fixed": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04f83b0dde90c45dde90e6744ec143af618029603ee907a009101eb45268f1b103747ec156a6d00023d05f00f05"
            "01355ff038060ff2c43705fb167747f001070f3d2d0245ec167a07ee102adde910454ff0010604fa05f406fa05f604eb"
            "560445ec314a0099f0e802261346144615463746b046b14600f07fbad0f804b050f808abd1f804e0d1f800c02cfb0a22"
            "2efb0a332cfb0b662efb0b77d1f80ce0d1f808c02cfb0a442efb0a552cfb0b882efb0b99d0f804b050f808abd1f804e1"
            "d1f800c12cfb0a222efb0a332cfb0b662efb0b77d1f80ce1d1f808c12cfb0a442efb0a552cfb0b882efb0b99d0f804b0"
            "50f808abd1f804e2d1f800c22cfb0a222efb0a332cfb0b662efb0b77d1f80ce2d1f808c22cfb0a442efb0a552cfb0b88"
            "2efb0b99d0f804b050f808abd1f804e3d1f800c32cfb0a222efb0a332cfb0b662efb0b77d1f80ce3d1f808c32cfb0a44"
            "2efb0a552cfb0b882efb0b99d0f804b050f808abd1f804e4d1f800c42cfb0a222efb0a332cfb0b662efb0b77d1f80ce4"
            "d1f808c42cfb0a442efb0a552cfb0b882efb0b99d0f804b050f808abd1f804e5d1f800c52cfb0a222efb0a332cfb0b66"
            "2efb0b77d1f80ce5d1f808c52cfb0a442efb0a552cfb0b882efb0b99d0f804b050f808abd1f804e6d1f800c62cfb0a22"
            "2efb0a332cfb0b662efb0b77d1f80ce6d1f808c62cfb0a442efb0a552cfb0b882efb0b99d0f804b050f808abd1f804e7"
            "d1f800c72cfb0a222efb0a332cfb0b662efb0b77d1f80ce7d1f808c72cfb0a442efb0a552cfb0b882efb0b99d0f804b0"
            "50f808abd1f804e8d1f800c82cfb0a222efb0a332cfb0b662efb0b77d1f80ce8d1f808c82cfb0a442efb0a552cfb0b88"
            "2efb0b99d0f804b050f808abd1f804e9d1f800c92cfb0a222efb0a332cfb0b662efb0b77d1f80ce9d1f808c92cfb0a44"
            "2efb0a552cfb0b882efb0b99d0f804b050f808abd1f804ead1f800ca2cfb0a222efb0a332cfb0b662efb0b77d1f80cea"
            "d1f808ca2cfb0a442efb0a552cfb0b882efb0b99d0f804b050f808abd1f804ebd1f800cb2cfb0a222efb0a332cfb0b66"
            "2efb0b77d1f80cebd1f808cb2cfb0a442efb0a552cfb0b882efb0b99d0f804b050f808abd1f804ecd1f800cc2cfb0a22"
            "2efb0a332cfb0b662efb0b77d1f80cecd1f808cc2cfb0a442efb0a552cfb0b882efb0b99d0f804b050f808abd1f804ed"
            "d1f800cd2cfb0a222efb0a332cfb0b662efb0b77d1f80cedd1f808cd2cfb0a442efb0a552cfb0b882efb0b99d0f804b0"
            "50f808abd1f804eed1f800ce2cfb0a222efb0a332cfb0b662efb0b77d1f80ceed1f808ce2cfb0a442efb0a552cfb0b88"
            "2efb0b99d0f804b050f808abd1f804efd1f800cf2cfb0a222efb0a332cfb0b662efb0b77d1f80cefd1f808cf2cfb0a44"
            "2efb0a552cfb0b882efb0b9901f580515bec15aa5145fff439aea1eb0a0a17ee10ca0ceb4a0c8ce8fc0359441af0100f"
            "00f0ab80baf1f00f40f0878017ee101af0e8022300ee102a01ee103a01f1100a13ee90ba5eec14cad1f88020d1f8a030"
            "d1f8c040d1f8e0501e19571b0a680b6a0c6c0d6e13eb0408b2eb050946444f44d1f80021d1f82031d1f84041d1f86051"
            "1b19521b1e44a8eb03081744a9eb0209d1f88021d1f8a031d1f8c041d1f8e0511b19521ba8eb0308a9eb020910ee102a"
            "54ec313a56fb023646fa04f606f3070657fb023747fa04f707f3070758fb023848fa04f808f3070859fb023949fa04f9"
            "09f307098cf800600cf80b708ef800800ef80b900ceb4b0c0eeb4b0e043151457ff4a2af0cf1010cacebcb0c0ef1010e"
            "aeebcb0eb0ee410a17ee102a103292450af1100a3ff490af4eec14ca029ca4457ff499ad03b0bde8f08fd0f804b050f8"
            "08abd1f804e0d1f800c02afb0cf22afb0ef32bfb0cf62bfb0ef7d1f80ce0d1f808c02afb0cf42afb0ef52bfb0cf82bfb"
            "0ef95bec16aa59445047d0f804b050f808abd1f804e0d1f800c02cfb0a222efb0a332cfb0b662efb0b77d1f80ce0d1f8"
            "08c02cfb0a442efb0a552cfb0b882efb0b995bec16aa5944504700bf"
        ),
    },
    "winograd_fixed6": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04f83b0dde90c45dde90e6744ec143af618029603ee907a009101eb45268f1b103747ec156a6d00023d05f00f05"
            "01355ff038060ff2b83705fb167747f001070f3d2d0245ec167a07ee102a109ca401203400ee904a0099f0e802261346"
            "144615463746b046b14600f076ba00bfd0f804b050f808abd1f804e0d1f800c02cfb0a222efb0a332cfb0b662efb0b77"
            "d1f80ce0d1f808c02cfb0a442efb0a552cfb0b882efb0b99d0f804b050f808abd1f804e1d1f800c12cfb0a222efb0a33"
            "2cfb0b662efb0b77d1f80ce1d1f808c12cfb0a442efb0a552cfb0b882efb0b99d0f804b050f808abd1f804e2d1f800c2"
            "2cfb0a222efb0a332cfb0b662efb0b77d1f80ce2d1f808c22cfb0a442efb0a552cfb0b882efb0b99d0f804b050f808ab"
            "d1f804e3d1f800c32cfb0a222efb0a332cfb0b662efb0b77d1f80ce3d1f808c32cfb0a442efb0a552cfb0b882efb0b99"
            "d0f804b050f808abd1f804e4d1f800c42cfb0a222efb0a332cfb0b662efb0b77d1f80ce4d1f808c42cfb0a442efb0a55"
            "2cfb0b882efb0b99d0f804b050f808abd1f804e5d1f800c52cfb0a222efb0a332cfb0b662efb0b77d1f80ce5d1f808c5"
            "2cfb0a442efb0a552cfb0b882efb0b99d0f804b050f808abd1f804e6d1f800c62cfb0a222efb0a332cfb0b662efb0b77"
            "d1f80ce6d1f808c62cfb0a442efb0a552cfb0b882efb0b99d0f804b050f808abd1f804e7d1f800c72cfb0a222efb0a33"
            "2cfb0b662efb0b77d1f80ce7d1f808c72cfb0a442efb0a552cfb0b882efb0b99d0f804b050f808abd1f804e8d1f800c8"
            "2cfb0a222efb0a332cfb0b662efb0b77d1f80ce8d1f808c82cfb0a442efb0a552cfb0b882efb0b99d0f804b050f808ab"
            "d1f804e9d1f800c92cfb0a222efb0a332cfb0b662efb0b77d1f80ce9d1f808c92cfb0a442efb0a552cfb0b882efb0b99"
            "d0f804b050f808abd1f804ead1f800ca2cfb0a222efb0a332cfb0b662efb0b77d1f80cead1f808ca2cfb0a442efb0a55"
            "2cfb0b882efb0b99d0f804b050f808abd1f804ebd1f800cb2cfb0a222efb0a332cfb0b662efb0b77d1f80cebd1f808cb"
            "2cfb0a442efb0a552cfb0b882efb0b99d0f804b050f808abd1f804ecd1f800cc2cfb0a222efb0a332cfb0b662efb0b77"
            "d1f80cecd1f808cc2cfb0a442efb0a552cfb0b882efb0b99d0f804b050f808abd1f804edd1f800cd2cfb0a222efb0a33"
            "2cfb0b662efb0b77d1f80cedd1f808cd2cfb0a442efb0a552cfb0b882efb0b99d0f804b050f808abd1f804eed1f800ce"
            "2cfb0a222efb0a332cfb0b662efb0b77d1f80ceed1f808ce2cfb0a442efb0a552cfb0b882efb0b99d0f804b050f808ab"
            "d1f804efd1f800cf2cfb0a222efb0a332cfb0b662efb0b77d1f80cefd1f808cf2cfb0a442efb0a552cfb0b882efb0b99"
            "01f580515bec15aa5145fff439aea1eb0a0a17ee10ca0ceb4a0c8ce8fc0359441af0100f00f0a180baf1f00f40f07d80"
            "17ee101af0e8022300ee102a01ee103a01f1100a13ee90ba5eec14cad1f88020d1f8a030d1f8c040d1f8e0501e19571b"
            "0a680b6a0c6c0d6e13eb0408b2eb050946444f44d1f80021d1f82031d1f84041d1f860511b19521b1e44a8eb03081744"
            "a9eb0209d1f88021d1f8a031d1f8c041d1f8e0511b19521ba8eb0308a9eb020953ec102a56fb023626f3871657fb0237"
            "27f3871758fb023828f3871859fb023929f387198cf800600cf80b708ef800800ef80b900ceb4b0c0eeb4b0e04315145"
            "7ff4acaf0cf1010cacebcb0c0ef1010eaeebcb0eb0ee410a17ee102a103292450af1100a3ff49aaf4eec14ca029ca445"
            "7ff4a2ad03b0bde8f08fd0f804b050f808abd1f804e0d1f800c02afb0cf22afb0ef32bfb0cf62bfb0ef7d1f80ce0d1f8"
            "08c02afb0cf42afb0ef52bfb0cf82bfb0ef95bec16aa59445047d0f804b050f808abd1f804e0d1f800c02cfb0a222efb"
            "0a332cfb0b662efb0b77d1f80ce0d1f808c02cfb0a442efb0a552cfb0b882efb0b995bec16aa5944504700bf"
        ),
    },
    "winograd_fixed6_compact": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04f83b0dde90c45dde90e6744ec143af618029603ee907a009101eb45268f1b103747ec156a6d00023d05f00305"
            "01355ff038060ff2181705fb167747f00107033d2d0245ec167a07ee102a109ca401203400ee904a0099f0e802261346"
            "144615463746b046b14600f00eb900bfd0f804b050f808abd1f804e0d1f800c02cfb0a222efb0a332cfb0b662efb0b77"
            "d1f80ce0d1f808c02cfb0a442efb0a552cfb0b882efb0b99d0f804b050f808abd1f804e1d1f800c12cfb0a222efb0a33"
            "2cfb0b662efb0b77d1f80ce1d1f808c12cfb0a442efb0a552cfb0b882efb0b99d0f804b050f808abd1f804e2d1f800c2"
            "2cfb0a222efb0a332cfb0b662efb0b77d1f80ce2d1f808c22cfb0a442efb0a552cfb0b882efb0b99d0f804b050f808ab"
            "d1f804e3d1f800c32cfb0a222efb0a332cfb0b662efb0b77d1f80ce3d1f808c32cfb0a442efb0a552cfb0b882efb0b99"
            "01f580615bec15aa5145fff489afa1eb0a0a17ee10ca0ceb4a0c8ce8fc0359441af0100f00f08980baf1f00f40f07d80"
            "17ee101af0e8022300ee102a01ee103a01f1100a13ee90ba5eec14cad1f88020d1f8a030d1f8c040d1f8e0501e19571b"
            "0a680b6a0c6c0d6e13eb0408b2eb050946444f44d1f80021d1f82031d1f84041d1f860511b19521b1e44a8eb03081744"
            "a9eb0209d1f88021d1f8a031d1f8c041d1f8e0511b19521ba8eb0308a9eb020953ec102a56fb023626f3871657fb0237"
            "27f3871758fb023828f3871859fb023929f387198cf800600cf80b708ef800800ef80b900ceb4b0c0eeb4b0e04315145"
            "7ff4acaf0cf1010cacebcb0c0ef1010eaeebcb0eb0ee410a17ee102a103292450af1100a3ff49aaf4eec14ca029ca445"
            "7ff4f2ae03b0bde8f08f00221346144615461646174690469146d0f804b050f808abd1f804e0d1f800c02cfb0a222efb"
            "0a332cfb0b662efb0b77d1f80ce0d1f808c02cfb0a442efb0a552cfb0b882efb0b995bec16aa5944504700bf"
        ),
    },
    "winograd_i8": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04f83b0dde90c45dde90e6744ec143af618029603ee907a009101eb45268f1b103747ec156a6d00023d05f00f05"
            "01355ff038060ff2c43705fb167747f001070f3d2d0245ec167a07ee102a109c40f20005c4f6403501ee905aa5eb0405"
            "00ee905a0099f0e802261346144615463746b046b14600f09eba00bfd0f804b050f808abd1f804e0d1f800c02cfb0a22"
            "2efb0a332cfb0b662efb0b77d1f80ce0d1f808c02cfb0a442efb0a552cfb0b882efb0b99d0f804b050f808abd1f804e1"
            "d1f800c12cfb0a222efb0a332cfb0b662efb0b77d1f80ce1d1f808c12cfb0a442efb0a552cfb0b882efb0b99d0f804b0"
            "50f808abd1f804e2d1f800c22cfb0a222efb0a332cfb0b662efb0b77d1f80ce2d1f808c22cfb0a442efb0a552cfb0b88"
            "2efb0b99d0f804b050f808abd1f804e3d1f800c32cfb0a222efb0a332cfb0b662efb0b77d1f80ce3d1f808c32cfb0a44"
            "2efb0a552cfb0b882efb0b99d0f804b050f808abd1f804e4d1f800c42cfb0a222efb0a332cfb0b662efb0b77d1f80ce4"
            "d1f808c42cfb0a442efb0a552cfb0b882efb0b99d0f804b050f808abd1f804e5d1f800c52cfb0a222efb0a332cfb0b66"
            "2efb0b77d1f80ce5d1f808c52cfb0a442efb0a552cfb0b882efb0b99d0f804b050f808abd1f804e6d1f800c62cfb0a22"
            "2efb0a332cfb0b662efb0b77d1f80ce6d1f808c62cfb0a442efb0a552cfb0b882efb0b99d0f804b050f808abd1f804e7"
            "d1f800c72cfb0a222efb0a332cfb0b662efb0b77d1f80ce7d1f808c72cfb0a442efb0a552cfb0b882efb0b99d0f804b0"
            "50f808abd1f804e8d1f800c82cfb0a222efb0a332cfb0b662efb0b77d1f80ce8d1f808c82cfb0a442efb0a552cfb0b88"
            "2efb0b99d0f804b050f808abd1f804e9d1f800c92cfb0a222efb0a332cfb0b662efb0b77d1f80ce9d1f808c92cfb0a44"
            "2efb0a552cfb0b882efb0b99d0f804b050f808abd1f804ead1f800ca2cfb0a222efb0a332cfb0b662efb0b77d1f80cea"
            "d1f808ca2cfb0a442efb0a552cfb0b882efb0b99d0f804b050f808abd1f804ebd1f800cb2cfb0a222efb0a332cfb0b66"
            "2efb0b77d1f80cebd1f808cb2cfb0a442efb0a552cfb0b882efb0b99d0f804b050f808abd1f804ecd1f800cc2cfb0a22"
            "2efb0a332cfb0b662efb0b77d1f80cecd1f808cc2cfb0a442efb0a552cfb0b882efb0b99d0f804b050f808abd1f804ed"
            "d1f800cd2cfb0a222efb0a332cfb0b662efb0b77d1f80cedd1f808cd2cfb0a442efb0a552cfb0b882efb0b99d0f804b0"
            "50f808abd1f804eed1f800ce2cfb0a222efb0a332cfb0b662efb0b77d1f80ceed1f808ce2cfb0a442efb0a552cfb0b88"
            "2efb0b99d0f804b050f808abd1f804efd1f800cf2cfb0a222efb0a332cfb0b662efb0b77d1f80cefd1f808cf2cfb0a44"
            "2efb0a552cfb0b882efb0b9901f580515bec15aa5145fff439aea1eb0a0a17ee10ca0ceb4a0c8ce8fc0359441af0100f"
            "00f0c980baf1f00f40f0a58017ee101af0e8022300ee102a01ee103a01f1100a13ee90ba5eec14cad1f88020d1f8a030"
            "d1f8c040d1f8e0501e19571b0a680b6a0c6c0d6e13eb0408b2eb050946444f44d1f80021d1f82031d1f84041d1f86051"
            "1b19521b1e44a8eb03081744a9eb0209d1f88021d1f8a031d1f8c041d1f8e0511b19521ba8eb0308a9eb020910ee902a"
            "02ee106ab8eec22a22ee002a32ee212a12ee106aa6eb020606f3070602ee107ab8eec22a22ee002a32ee212a12ee107a"
            "a7eb020707f3070702ee108ab8eec22a22ee002a32ee212a12ee108aa8eb020808f3070802ee109ab8eec22a22ee002a"
            "32ee212a12ee109aa9eb020909f307098cf800600cf80b708ef800800ef80b900ceb4b0c0eeb4b0e043151457ff484af"
            "0cf1010cacebcb0c0ef1010eaeebcb0eb0ee410a17ee102a103292450af1100a3ff472af4eec14ca029ca4457ff47aad"
            "03b0bde8f08fd0f804b050f808abd1f804e0d1f800c02afb0cf22afb0ef32bfb0cf62bfb0ef7d1f80ce0d1f808c02afb"
            "0cf42afb0ef52bfb0cf82bfb0ef95bec16aa59445047d0f804b050f808abd1f804e0d1f800c02cfb0a222efb0a332cfb"
            "0b662efb0b77d1f80ce0d1f808c02cfb0a442efb0a552cfb0b882efb0b995bec16aa5944504700bf"
        ),
    },
    "winograd_words": {
        ("thumbv6m",): (
            "f0b544464d4656465f46f0b483b00092ff241219013201929c0002942418a6465c4207252c402a256c4305a564190134"
            "a4460023984699469a469b466047c04640c837b23cc97a437b437c437d4390449944a244ab4437143cc97a437b437c43"
            "7d4390449944a244ab4440c837b23cc97a437b437c437d4390449944a244ab4437143cc97a437b437c437d4390449944"
            "a244ab4440c837b23cc97a437b437c437d4390449944a244ab4437143cc97a437b437c437d4390449944a244ab4440c8"
            "37b23cc97a437b437c437d4390449944a244ab4437143cc97a437b437c437d4390449944a244ab4440c837b23cc97a43"
            "7b437c437d4390449944a244ab4437143cc97a437b437c437d4390449944a244ab4440c837b23cc97a437b437c437d43"
            "90449944a244ab4437143cc97a437b437c437d4390449944a244ab4440c837b23cc97a437b437c437d4390449944a244"
            "ab4437143cc97a437b437c437d4390449944a244ab4440c837b23cc97a437b437c437d4390449944a244ab4437143cc9"
            "7a437b437c437d4390449944a244ab44704500d054e7009a44464d4656465f46f0c20092029b9e44019ca24200d040e7"
            "03b0f0bca046a946b246bb46f0bdc046"
        ),
        ("thumbv7m",): (
            "f0b544464d4656465f46f0b483b00092ff241219013201929c0002942418a6465c4207252c402a256c4305a564190134"
            "a4460023984699469a469b46604700bf40c837b23cc97a437b437c437d4390449944a244ab4437143cc97a437b437c43"
            "7d4390449944a244ab4440c837b23cc97a437b437c437d4390449944a244ab4437143cc97a437b437c437d4390449944"
            "a244ab4440c837b23cc97a437b437c437d4390449944a244ab4437143cc97a437b437c437d4390449944a244ab4440c8"
            "37b23cc97a437b437c437d4390449944a244ab4437143cc97a437b437c437d4390449944a244ab4440c837b23cc97a43"
            "7b437c437d4390449944a244ab4437143cc97a437b437c437d4390449944a244ab4440c837b23cc97a437b437c437d43"
            "90449944a244ab4437143cc97a437b437c437d4390449944a244ab4440c837b23cc97a437b437c437d4390449944a244"
            "ab4437143cc97a437b437c437d4390449944a244ab4440c837b23cc97a437b437c437d4390449944a244ab4437143cc9"
            "7a437b437c437d4390449944a244ab44704500d054e7009a44464d4656465f46f0c20092029b9e44019ca24200d040e7"
            "03b0f0bca046a946b246bb46f0bd00bf"
        ),
    },
    "winograd_words_output": {
        ("thumbv6m", "thumbv7m"): (
            "f0b544464d4656465f46f0b492469b4609688e460446103410b4014680310468056c0e680f6c6419a419ad1bed1b2246"
            "a8460469056d0e690f6d6419a419ad1bed1b12192346a844ac46046a056e0e6a0f6e6419a419ad1bed1b12191b1ba844"
            "a946046b056f0e6b0f6f6419a419ad1bed1b1b1ba94492109b107244734454460cc4a246424663464c461b1b92109b10"
            "724473445c460cc4a34604300431009ca042bcd1f8bca046a946b246bb46f0bd"
        ),
    },
    "gemm_4x1_s16s8_i32": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04f85b00e9d1c46a4f1010606f0030606f101064ff038080ff2201706fb187747f0010701ebc40605f103054fea"
            "9505cde90017cde9022604954ff000044ff000054ff000064ff000074ff000084ff00009dde9001a504700bff1e80223"
            "b0e8005cc2fbca452ffa8afa22fb0a66c2fbcb782ffa8bfb22fb0b99c3fbcc452ffa8cfc23fb0c66c3fbce782ffa8efe"
            "23fb0e99f1e80223b0e8005cc2fbca452ffa8afa22fb0a66c2fbcb782ffa8bfb22fb0b99c3fbcc452ffa8cfc23fb0c66"
            "c3fbce782ffa8efe23fb0e99f1e80223b0e8005cc2fbca452ffa8afa22fb0a66c2fbcb782ffa8bfb22fb0b99c3fbcc45"
            "2ffa8cfc23fb0c66c3fbce782ffa8efe23fb0e99f1e80223b0e8005cc2fbca452ffa8afa22fb0a66c2fbcb782ffa8bfb"
            "22fb0b99c3fbcc452ffa8cfc23fb0c66c3fbce782ffa8efe23fb0e99ddf80ca051458bd1a41b65ebe6754fea142444ea"
            "0564b7eb090768ebe9784fea172747ea0867029a049ba2e8d0020292013b04937ff464af05b0bde8f08f00bf"
        ),
    },
    "gemm_8x1_s16s8_i32": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04f8eb0179d1c46a4f1010606f0010606f101064ff0a4080ff2761706fb187747f00107cde9081701ebc406cde9"
            "0a2605f00707ee08cde90c6700f0c780b0e8f053dde9081a5047f1e8022350f804ab2ffa8afb2ffa9afa2bfb02442afb"
            "034450f804ab2ffa8afb2ffa9afa2bfb02552afb035550f804ab2ffa8afb2ffa9afa2bfb02662afb036650f804ab2ffa"
            "8afb2ffa9afa2bfb02772afb037750f804ab2ffa8afb2ffa9afa2bfb02882afb038850f804ab2ffa8afb2ffa9afa2bfb"
            "02992afb039950f804ab2ffa8afb2ffa9afa2bfb02cc2afb03cc50f804ab2ffa8afb2ffa9afa2bfb02ee2afb03eef1e8"
            "022350f804ab2ffa8afb2ffa9afa2bfb02442afb034450f804ab2ffa8afb2ffa9afa2bfb02552afb035550f804ab2ffa"
            "8afb2ffa9afa2bfb02662afb036650f804ab2ffa8afb2ffa9afa2bfb02772afb037750f804ab2ffa8afb2ffa9afa2bfb"
            "02882afb038850f804ab2ffa8afb2ffa9afa2bfb02992afb039950f804ab2ffa8afb2ffa9afa2bfb02cc2afb03cc50f8"
            "04ab2ffa8afb2ffa9afa2bfb02ee2afb03eeddf82ca051457ff457afddf828b04bf8044b4bf8045b4bf8046b4bf8047b"
            "4bf8048b4bf8049b4bf804cb4bf804eb0c9acdf828b0013a0c927ff439afddf834c0bcf1000f00f01a80dde90a5650f8"
            "044b0899f1e8022350f804ab2ffa8afb2ffa9afa2bfb02442afb0344b142f1d1ab464bf8044b5d46bcf1010ce7d10eb0"
            "bde8f08f"
        ),
    },
    "gemm_8x1_s16_i32": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04f8eb0179d1c46a4f1010606f0010606f101064ff064080ff2f60706fb187747f00107cde9081701ebc406cde9"
            "0a2605f00707ee08cde90c6700f08780b0e8f053dde9081a5047f1e80223f0e802ab2afb02442bfb0344f0e802ab2afb"
            "02552bfb0355f0e802ab2afb02662bfb0366f0e802ab2afb02772bfb0377f0e802ab2afb02882bfb0388f0e802ab2afb"
            "02992bfb0399f0e802ab2afb02cc2bfb03ccf0e802ab2afb02ee2bfb03eef1e80223f0e802ab2afb02442bfb0344f0e8"
            "02ab2afb02552bfb0355f0e802ab2afb02662bfb0366f0e802ab2afb02772bfb0377f0e802ab2afb02882bfb0388f0e8"
            "02ab2afb02992bfb0399f0e802ab2afb02cc2bfb03ccf0e802ab2afb02ee2bfb03eeddf82ca051457ff497afddf828b0"
            "4bf8044b4bf8045b4bf8046b4bf8047b4bf8048b4bf8049b4bf804cb4bf804eb0c9acdf828b0013a0c927ff479afddf8"
            "34c0bcf1000f00f01680dde90a5650f8044b0899f1e80223f0e802ab2afb02442bfb0344b142f5d1ab464bf8044b5d46"
            "bcf1010cebd10eb0bde8f08f"
        ),
    },
    "helium_gemm_4x1_s16s8_i32": {
        ("thumbv8.1m.main",): (
            "2de9f04f2ded088b84b005469146ddf854b001eb0312cde90212a3f1010606f007074ff038080ff2182407fb184444f0"
            "01044fead606cde90046dde90213b5ec105eb1ec101ef0ee040fb3ec103ef2ee048fb5ec107ef0ee062ff2ee06afb5ec"
            "105ef0ee044ff2ee04cfb5ec107ef0ee066fb5ec105ef2ee06ef019fddf800f0b1ec101ef0ee240fb3ec103ef2ee248f"
            "b5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26efb1ec101ef0ee240f"
            "b3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26ef"
            "b1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266f"
            "b5ec105ef2ee26efb1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cf"
            "b5ec107ef0ee266fb5ec105ef2ee26efb1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105e"
            "f0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26efb1ec101ef0ee240fb3ec103ef2ee248fb5ec107ef0ee262f"
            "f2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26efb1ec101ef0ee240fb3ec103ef2ee248f"
            "b5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26efb1ec101ef0ee240f"
            "b3ec103ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26ef"
            "013fbff61daf14ec000fbbf1040b16ec120f1cec082fa8ef50051eec1a2f20ef440820ef4208a9ec041f3ff7e6ae04b0"
            "bdec088bbde8f08f"
        ),
    },
    "helium_gemm_4x1_s16s8_few_i32": {
        ("thumbv8.1m.main",): (
            "2de9f04f2ded108b05469146ddf864b04fea0314a3f102064ff038080ff2a81706fb187747f0010791ed009e214491ed"
            "00be01eb040311ed10de13ed10feb5e80055b5ec105ef8ee040ffaee248fb5ec107ef8ee062ffaee26afb5ec105ef8ee"
            "044ffaee24cfb5ec107ef8ee066fb5ec105efaee26ef384711ed701ef0ee240f13ed703ef2ee248fb5ec107ef0ee262f"
            "f2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26ef11ed601ef0ee240f13ed603ef2ee248f"
            "b5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26ef11ed501ef0ee240f"
            "13ed503ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26ef"
            "11ed401ef0ee240f13ed403ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cfb5ec107ef0ee266f"
            "b5ec105ef2ee26ef11ed301ef0ee240f13ed303ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105ef0ee244ff2ee24cf"
            "b5ec107ef0ee266fb5ec105ef2ee26ef11ed201ef0ee240f13ed203ef2ee248fb5ec107ef0ee262ff2ee26afb5ec105e"
            "f0ee244ff2ee24cfb5ec107ef0ee266fb5ec105ef2ee26effcee240ffeee248fb5ec107efcee262ffeee26afb5ec105e"
            "fcee244ffeee24cfb5ec107efcee266ffeee26ef08eb00280aeb022a0ceb042c0eeb062ebbf1040ba9e800553ff717af"
            "bdec108bbde8f08f"
        ),
    },
    "helium_split_halfwords": {
        ("thumbv8.1m.main",): (
            "10b501eb021380ff504e42f00dc090fc001eb0fc201ea1ec103e00ff5401a3ec101e0ff00dc010bd"
        ),
    },
    "helium_gemm_8x1_s16_i32": {
        ("thumbv8.1m.main",): (
            "2de9f04f2ded088b82b0ddf84cb005461c46a4f1010606f0070707f101074ff044080ff2482907fb189949f001094fea"
            "d60606f10106cde900968946134655cdb5e800554946019fddf800f0b1ec101eb5ec103ef0ee220eb5ec105ef0ee242e"
            "b5ec103ef0ee224eb5ec105ef0ee246eb5ec103ef0ee228eb5ec105ef0ee24aeb5ec103ef0ee22ceb5ec105ef0ee24ee"
            "b1ec101eb5ec103ef0ee220eb5ec105ef0ee242eb5ec103ef0ee224eb5ec105ef0ee246eb5ec103ef0ee228eb5ec105e"
            "f0ee24aeb5ec103ef0ee22ceb5ec105ef0ee24eeb1ec101eb5ec103ef0ee220eb5ec105ef0ee242eb5ec103ef0ee224e"
            "b5ec105ef0ee246eb5ec103ef0ee228eb5ec105ef0ee24aeb5ec103ef0ee22ceb5ec105ef0ee24eeb1ec101eb5ec103e"
            "f0ee220eb5ec105ef0ee242eb5ec103ef0ee224eb5ec105ef0ee246eb5ec103ef0ee228eb5ec105ef0ee24aeb5ec103e"
            "f0ee22ceb5ec105ef0ee24eeb1ec101eb5ec103ef0ee220eb5ec105ef0ee242eb5ec103ef0ee224eb5ec105ef0ee246e"
            "b5ec103ef0ee228eb5ec105ef0ee24aeb5ec103ef0ee22ceb5ec105ef0ee24eeb1ec101eb5ec103ef0ee220eb5ec105e"
            "f0ee242eb5ec103ef0ee224eb5ec105ef0ee246eb5ec103ef0ee228eb5ec105ef0ee24aeb5ec103ef0ee22ceb5ec105e"
            "f0ee24eeb1ec101eb5ec103ef0ee220eb5ec105ef0ee242eb5ec103ef0ee224eb5ec105ef0ee246eb5ec103ef0ee228e"
            "b5ec105ef0ee24aeb5ec103ef0ee22ceb5ec105ef0ee24eeb1ec101eb5ec103ef0ee220eb5ec105ef0ee242eb5ec103e"
            "f0ee224eb5ec105ef0ee246eb5ec103ef0ee228eb5ec105ef0ee24aeb5ec103ef0ee22ceb5ec105ef0ee24ee013f7ff4"
            "edae14ec000f16ec120f1cec082f1eec1a2fa3ec041fa3ec043fbbf1080bc4bf55cdb5e800553ff7d5ae02b0bdec088b"
            "bde8f08f"
        ),
    },
    "interpolate_line": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f043ddf81cc0d2e900454ff0801e03ebcc021cf0010f15d150f8046b51f8047b2efa86f82efa96f92efa87f62efa"
            "97f708fb04f809fb04f906fb058807fb0599e3e8028950f8046b51f8047b2efa86f82efa96f92efa87f62efa97f708fb"
            "04f809fb04f906fb058807fb0599e3e802899342d1d1bde8f08300bf"
        ),
    },
    "interpolate_pixels": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04fdde90945dde90b6bddf834a042ec101a45ec110a4fea860604fb063444ec126a9c464ff0ff2e55ec104af4e8"
            "0267f5e8022345ec104a55ec114a12ee108aae4288bf2e46af4288bf2f460ceb08094fea480806fb084007fb084118f0"
            "080f21d1f0e80245f1e8026704fb02f405fb02f506fb034407fb03553bfb04a63bfb14a43bfb05a73bfb15a5c4ea2644"
            "c5ea274524f3070425f307050eea052535fa84f44cf8044bf0e80245f1e8026704fb02f405fb02f506fb034407fb0355"
            "3bfb04a63bfb14a43bfb05a73bfb15a5c4ea2644c5ea274524f3070425f307050eea052535fa84f44cf8044bcc45b9d1"
            "12ee904aa44598d1bde8f08f"
        ),
    },
    "tiles_configure": {
        ("x86_64",): (
            "31c048894424c848c74424c00100000048894424e048894424e848894424f848b8400040004000400048894424d04889"
            "4424d866897424d866897424da400fb6c769c001010101894424f066894424f4c1ee0240887424f640887424f7c4e278"
            "494424c0c30f0b"
        ),
    },
    "tiles_release": {
        ("x86_64",): (
            "c4e27849c0c30f0b"
        ),
    },
    "tiles_u8_2x1": {
        ("x86_64",): (
            "535541544155415641574d89ca486344244041bb400000004829fe4c634c245049c1e10431dbc4e27b4b0419c4e27b4b"
            "14198b6c24604989fe8b5c24704d89f4448b6c244841ffcd75084c636424584d01f4c4c27b4b2404498d0c34c4a27b4b"
            "341ac4e27b4b2c01c4e2495ec4c4e2495ed58b8c2480000000eb08410f18124983c240ffc979f448634c24504901cc4c"
            "01ca4585ed75ae48634c24784901ceffcb759a48634c24684801cfffcd758741ba4000000048634c2438490fafca4c01"
            "c1c4827a4b0410c4a27a4b1411415f415e415d415c5d5bc30f0b"
        ),
    },
    "tiles_u8_2x2": {
        ("x86_64",): (
            "535541544155415641574d89ca486344244041bb400000004829fe4c634c245049c1e1044c637c24484d0faff948635c"
            "24604c0faffb48635c24704c0faffb31dbc4e27b4b0419c4e27b4b4c1940c4e27b4b1419c4e27b4b5c19408b6c246049"
            "89fe8b5c24704d89f4448b6c244841ffcd75084c636424584d01f4c4c27b4b2404498d0c34c4a27b4b341ac4e27b4b2c"
            "014a8d0c3ac4e2495ec4c4a27b4b3c19c4e2495ed5c4e2415eccc4e2415edd8b8c2480000000eb08410f18124983c240"
            "ffc979f448634c24504901cc4c01ca4585ed759a48634c24784901ceffcb758648634c24684801cfffcd0f856fffffff"
            "41ba8000000048634c2438490fafca4c01c1c4827a4b0410c4827a4b4c1040c4a27a4b1411c4a27a4b5c1140415f415e"
            "415d415c5d5bc30f0b"
        ),
    },
    "tiles_i8_2x1": {
        ("x86_64",): (
            "535541544155415641574d89ca486344244041bb400000004829fe4c634c245049c1e10431dbc4e27b4b0419c4e27b4b"
            "14198b6c24604989fe8b5c24704d89f4448b6c244841ffcd75084c636424584d01f4c4c27b4b2404498d0c34c4a27b4b"
            "341ac4e27b4b2c01c4e24b5ec4c4e24b5ed58b8c2480000000eb08410f18124983c240ffc979f448634c24504901cc4c"
            "01ca4585ed75ae48634c24784901ceffcb759a48634c24684801cfffcd758741ba4000000048634c2438490fafca4c01"
            "c1c4827a4b0410c4a27a4b1411415f415e415d415c5d5bc30f0b"
        ),
    },
    "tiles_i8_2x2": {
        ("x86_64",): (
            "535541544155415641574d89ca486344244041bb400000004829fe4c634c245049c1e1044c637c24484d0faff948635c"
            "24604c0faffb48635c24704c0faffb31dbc4e27b4b0419c4e27b4b4c1940c4e27b4b1419c4e27b4b5c19408b6c246049"
            "89fe8b5c24704d89f4448b6c244841ffcd75084c636424584d01f4c4c27b4b2404498d0c34c4a27b4b341ac4e27b4b2c"
            "014a8d0c3ac4e24b5ec4c4a27b4b3c19c4e24b5ed5c4e2435eccc4e2435edd8b8c2480000000eb08410f18124983c240"
            "ffc979f448634c24504901cc4c01ca4585ed759a48634c24784901ceffcb758648634c24684801cfffcd0f856fffffff"
            "41ba8000000048634c2438490fafca4c01c1c4827a4b0410c4827a4b4c1040c4a27a4b1411c4a27a4b5c1140415f415e"
            "415d415c5d5bc30f0b"
        ),
    },
    "normalize_row": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f04f099f91e8700006f01f0607f0030937f0030800eb080a49ec10aa6ed018f0040f33d190f901c010f904bbb2e8"
            "80070bfb045b0cfb045c4bfa06fb4cfa06fc5bfb078b5cfb09ac10f9021c10f901ecb2e8800701fb04510efb045e41fa"
            "06f14efa06fe51fb07815efb09aec1ea2b4bceea2c4c2bf3070b2cf3070c3ffa8bfb3ffa8cfc4bea0c2b43f804bb90f9"
            "01c010f904bbb2e880070bfb045b0cfb045c4bfa06fb4cfa06fc5bfb078b5cfb09ac10f9021c10f901ecb2e8800701fb"
            "04510efb045e41fa06f14efa06fe51fb07815efb09aec1ea2b4bceea2c4c2bf3070b2cf3070c3ffa8bfb3ffa8cfc4bea"
            "0c2b43f804bb10ee107ab84293d110ee909ab9f1000f10d010f9011bf2e8027801fb045141fa06f151fb078121f30741"
            "03f8011bb9f10109eed1bde8f08f00bf"
        ),
    },
    "helium_normalize_row": {
        ("thumbv8.1m.main",): (
            "f0b52ded088b91e870000d9faaee104b06f01f06c6f100064fead70e4ef029c0b0ec880eb0ee402fb2ec047fb0ee405f"
            "2bee453eb2ec049f2bee455e39ee663e39ee665e23ee072eb2ec047f25ee094eb2ec049f22ef462824ef484890eec30f"
            "90eec51f33ee010ea3ec880e0ff029c017f007072bd017f001e871fe4d0f90ed800eb0ee402fb2ec047fb0ee405f2bee"
            "453eb2ec049f2bee455e39ee663e39ee665e23ee072eb2ec047f25ee094eb2ec049f22ef462824ef484890eec30f90ee"
            "c51f33ee010e71fe4d0f83ed800ebdec088bf0bd"
        ),
    },
    "helium_normalize_rows": {
        ("thumbv8.1m.main",): (
            "2de9f0472ded108b91e8f003ddf860a0aaee104b06f01f06acee107b09f01f0900eb0a01c6f1000603eb0a04c9f10009"
            "4feada0e4ef047c0b0ec880eb0ee402fb2ec047fb0ee405f2bee453eb1ec88ee2bee455eb2ec049f39ee663eb0ee4e0f"
            "39ee665eb0ee4eff23ee072e2dee481e25ee094e2dee48fe39ee691e21ee070eb2ec047f39ee69fe2fee09eeb2ec049f"
            "22ef462820ef460824ef48482eef48e890eec32f90eec10f90eec53f90eecf1f33ee032ea3ec882e33ee010ea4ec880e"
            "0ff047c01af0070a4dd01af001e871fe4d0f90ed800eb0ee402fb2ec047fb0ee405f2bee453e71fe4d0f91ed80ee2bee"
            "455eb2ec049f39ee663eb0ee4e0f39ee665eb0ee4eff23ee072e2dee481e25ee094e2dee48fe39ee691e21ee070eb2ec"
            "047f39ee69fe2fee09eeb2ec049f22ef462820ef460824ef48482eef48e890eec32f90eec10f90eec53f90eecf1f33ee"
            "032e71fe4d0f83ed802e33ee010e71fe4d0f84ed800ebdec108bbde8f08700bf"
        ),
    },
    "rescale_run": {
        ("thumbv7em", "thumbv8m.main", "thumbv8.1m.main"): (
            "2de9f00fdde90845ddf828c0476850f8086bd1f8049051f8088b4ffa96fa4ffa98fb0afb04ca0bfb05aa2af3075a82f8"
            "01a04ffaa6fa4ffaa8fb0afb04ca0bfb05aa2af3075a82f802a04ffab6fa4ffab8fb0afb04ca0bfb05aa2af3075a82f8"
            "03a04ffa87fa4ffa89fb0afb04ca0bfb05aa2af3075a82f804a04ffa97fa4ffa99fb0afb04ca0bfb05aa2af3075a82f8"
            "05a04ffaa7fa4ffaa9fb0afb04ca0bfb05aa2af3075a82f806a04ffab7fa4ffab9fb0afb04ca0bfb05aa2af3075a82f8"
            "07a04ffa86fa4ffa88fb0afb04ca0bfb05aa2af3075a02f808ab083b7ff496afbde8f00f704700bf"
        ),
    },
}
