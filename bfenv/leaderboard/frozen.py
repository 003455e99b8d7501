"""What the traces of the suites contain: how many jobs, and the hash of it all."""

from types import MappingProxyType

# source: number of jobs, hash
# fmt: off
CONTENTS = MappingProxyType({
    "lublin:procs=128,jobs=10000,load=0.7,seed=1000000": (
        10000, "sha256:d16539d80cfdf396536285c6661bfe7d3804d6bfd30690500296a157f5daf5b4",
    ),
    "lublin:procs=128,jobs=10000,load=0.7,seed=1000001": (
        10000, "sha256:16ab4f0e98df999c1c4107b10a39e532e64c6a3dc3c9865bb79ac1d8500eceb8",
    ),
    "lublin:procs=128,jobs=10000,load=0.7,seed=1000002": (
        10000, "sha256:169a4c33e460cb54bf990095e0a2463e9f5857b446dd8e946d406fd4ad143774",
    ),
    "lublin:procs=128,jobs=10000,load=0.7,seed=1000003": (
        10000, "sha256:b9723571884a77d696c0f4144457d6a704b5af2d7a82100385f103711f1e1afa",
    ),
    "lublin:procs=128,jobs=10000,load=0.7,seed=1000004": (
        10000, "sha256:4b5c609a9d4f228d375e375dc0add41093b570a5600a22d67fce7f7a54d73d45",
    ),
    "lublin:procs=128,jobs=10000,load=0.8,seed=1000000": (
        10000, "sha256:21da98f51391d0ac72514bb3fd5cc932c4b8e46c5dc76515233cac6fa41ebfe4",
    ),
    "lublin:procs=128,jobs=10000,load=0.8,seed=1000001": (
        10000, "sha256:6869850dd574dc81eab75e1151e1d5abd820013c5e54894ff384813cdfc580d5",
    ),
    "lublin:procs=128,jobs=10000,load=0.8,seed=1000002": (
        10000, "sha256:8b0afa9bbdae70813674cdb5c56b60451d062aa978700051365fd919e0766d5d",
    ),
    "lublin:procs=128,jobs=10000,load=0.8,seed=1000003": (
        10000, "sha256:ce26de12830f8654de781945260e5e50b2f5ec2ec2fc6d031b63b8d90d972678",
    ),
    "lublin:procs=128,jobs=10000,load=0.8,seed=1000004": (
        10000, "sha256:2965181e274a83b9b829f70a21abab8871c16dcc414e7d4d00440617b3253188",
    ),
    "lublin:procs=128,jobs=10000,load=0.9,seed=1000000": (
        10000, "sha256:98dab92955a6dbd3f3ae8d41bbcc4e1608f8ec40532abfa9b2ce3c27568969e9",
    ),
    "lublin:procs=128,jobs=10000,load=0.9,seed=1000001": (
        10000, "sha256:f97ad0147700bef7fbb9556e01dbfae9c52fdca72be2f5a81dba793595bed6a1",
    ),
    "lublin:procs=128,jobs=10000,load=0.9,seed=1000002": (
        10000, "sha256:867a108821e9375fb62e65847c9f2285ef4d849191c2e02f5dabc484d9d2baf2",
    ),
    "lublin:procs=128,jobs=10000,load=0.9,seed=1000003": (
        10000, "sha256:24bba8e7c090681014d386265d4be030a5a8d5ab47cd7593bc5cbcf25959e24e",
    ),
    "lublin:procs=128,jobs=10000,load=0.9,seed=1000004": (
        10000, "sha256:f3be0a1b3f306981d603c51e93df36072227d94363709d0e75d252b911925315",
    ),
    "lublin:procs=256,jobs=10000,load=0.7,seed=1000000": (
        10000, "sha256:5f2d19f1e30e2d740ad79b9366ff82bb65b821b2f39c52b38ef3bd42c0ca3f72",
    ),
    "lublin:procs=256,jobs=10000,load=0.7,seed=1000001": (
        10000, "sha256:3b21f622bc0c105cdeb09d0c5501a0a0c7f723840d474c172e259db954e36e4e",
    ),
    "lublin:procs=256,jobs=10000,load=0.7,seed=1000002": (
        10000, "sha256:6dd1257dfbe2c536e2b54c7b72076713235e721307c31cd2a5fb80ab32461270",
    ),
    "lublin:procs=256,jobs=10000,load=0.7,seed=1000003": (
        10000, "sha256:69ce5db7803ec6e01e3e71dc058e382bd9b37be382d7aebe9ed7ac3fbb77b989",
    ),
    "lublin:procs=256,jobs=10000,load=0.7,seed=1000004": (
        10000, "sha256:1b0db80cc16a6d49eda2afc6d9b3654eed959b2e5b6b5fa776528ad1d66da294",
    ),
    "lublin:procs=256,jobs=10000,load=0.8,seed=1000000": (
        10000, "sha256:4f924d08e12f650d6ddcf1dc31a20496672696ceddaee2fa9a466270b8f04efa",
    ),
    "lublin:procs=256,jobs=10000,load=0.8,seed=1000001": (
        10000, "sha256:5767f691314130ae8fe740d08b46648fb6f145a89ed51176f37617f09399b435",
    ),
    "lublin:procs=256,jobs=10000,load=0.8,seed=1000002": (
        10000, "sha256:b01a7753f7c14891b6f8d8de10fd11e331717e6f51ef3f093c5a17a45c05319a",
    ),
    "lublin:procs=256,jobs=10000,load=0.8,seed=1000003": (
        10000, "sha256:130d63c98c8942a50bfa034f0a99de822925947d1ba8b81f721c3cdf1512904a",
    ),
    "lublin:procs=256,jobs=10000,load=0.8,seed=1000004": (
        10000, "sha256:5d02b7043c09a2c092baab8df38dd25f4b8c1971e3d501af49d1e93ef8b6bd81",
    ),
    "lublin:procs=256,jobs=10000,load=0.9,seed=1000000": (
        10000, "sha256:0b6de77c348ed21cb6f5d7dfb6bcf6cdc863e9943c4b5586a31c426bf7075a61",
    ),
    "lublin:procs=256,jobs=10000,load=0.9,seed=1000001": (
        10000, "sha256:0541b6a97b95d0d4c94cc015b579466286ed8df1c9d4d895bbfd2c69d953d566",
    ),
    "lublin:procs=256,jobs=10000,load=0.9,seed=1000002": (
        10000, "sha256:59c47f6a9ddc623e8fff8c6c5c3ca41253e8883f6a0e1b636db7362588b690ba",
    ),
    "lublin:procs=256,jobs=10000,load=0.9,seed=1000003": (
        10000, "sha256:77a27a06e33c7e1f7c612ed36adb66c4c092a94c1716f60088db742ab03d73ad",
    ),
    "lublin:procs=256,jobs=10000,load=0.9,seed=1000004": (
        10000, "sha256:2a3a4a388b8214391057d1d1525671f13de1790383b9fd2d000198509129057f",
    ),
    "KTH-SP2-1996-2.1-cln:split=test": (
        12278, "sha256:0f40a06c120a5c995fc2000a71b6c8c683ebbdaf512fb9d4d97acae8ce77f24d",
    ),
    "KTH-SP2-1996-2.1-cln:split=test,load=0.9": (
        12278, "sha256:20504ce30bc5a740a3a9903a2f9e7c1a366abcdd8a503a4018a01b9414c08c97",
    ),
    "CTC-SP2-1996-3.1-cln:split=test": (
        29959, "sha256:276164f95b26666821299fbaab1103f23c00d20fcef55fe2b7f648c4332c2579",
    ),
    "CTC-SP2-1996-3.1-cln:split=test,load=0.9": (
        29959, "sha256:1ee898e25278617384af6bf7d1da8f7cef5bf8a97f8ab9e6cc162836835caa95",
    ),
    "SDSC-SP2-1998-4.2-cln:split=test": (
        14879, "sha256:232e7faf7392e0a9a59341ad07fde0242893f58384584fed1711019322e6c91d",
    ),
    "SDSC-SP2-1998-4.2-cln:split=test,load=0.9": (
        14879, "sha256:a49ffc59a6b7fb8b42ce6552f1fb2167c6293c493bbf399d50f20978c7439818",
    ),
    "SDSC-BLUE-2000-4.2-cln:split=test": (
        100282, "sha256:7dce5f759b9a718a37be64fc36ecd93fd01850d7fe9e12dc2100aefc46284216",
    ),
    "SDSC-BLUE-2000-4.2-cln:split=test,load=0.9": (
        100282, "sha256:47bf197aa359f4b573dde43a9fc00ad13c83a28cd6c3d5c386536c4c52c271a9",
    ),
    "HPC2N-2002-2.2-cln:split=test": (
        82167, "sha256:8fbbfa2119b018853d07ec23b21686533ad4560c0f0d9ff66e41a021a5bf1c88",
    ),
    "HPC2N-2002-2.2-cln:split=test,load=0.9": (
        82167, "sha256:d3be42adf134b9edb0fc0648ed81e0e1578cd9027964a21b904b009c4c59efb4",
    ),
    "lublin_256_10k:estimates=exact,job_count=1024,first_job=1981": (
        1024, "sha256:c6f184a945f54d58126a026c176ce58c8803d10e3aee762638fa9a8d5646d9f1",
    ),
    "lublin_256_10k:estimates=exact,job_count=1024,first_job=2756": (
        1024, "sha256:06fe7fc1d6c96a7ca39dad9d10bd2abeb5b846f68c110ae1a4808809f38c1ef7",
    ),
    "lublin_256_10k:estimates=exact,job_count=1024,first_job=4299": (
        1024, "sha256:f73fad08eebb42e7689bcd7833e7ae81e7834fff140c4c5d5c8bb89b9a88d165",
    ),
    "lublin_256_10k:estimates=exact,job_count=1024,first_job=8850": (
        1024, "sha256:bb6d7a139188075f345246935dd9849c05c8cc3dd997e5fbf317bd347520a6de",
    ),
    "lublin_256_10k:estimates=exact,job_count=1024,first_job=3316": (
        1024, "sha256:decbfcc31420639a64cc6f85375f71eaa53077fcfe236cec3a2cbd80661ce3c6",
    ),
    "lublin_256_10k:estimates=exact,job_count=1024,first_job=2714": (
        1024, "sha256:ca6ba38821929ec0608961f9b0d98f9b5a3fa44796f38b9f69099b6485e6fdef",
    ),
    "lublin_256_10k:estimates=exact,job_count=1024,first_job=5228": (
        1024, "sha256:c6fbd1613a011052d234ab240c96080ad220e1c0086916d2e84de4b858e79415",
    ),
    "lublin_256_10k:estimates=exact,job_count=1024,first_job=7762": (
        1024, "sha256:1d5569255ee195bcbe567f062771c0d14ec901552da8a2b3a4a9f01c49ac1b37",
    ),
    "lublin_256_10k:estimates=exact,job_count=1024,first_job=4022": (
        1024, "sha256:e755662820020706035287db23e961e467d03f4509e2f5a8271d71a022309387",
    ),
    "lublin_256_10k:estimates=exact,job_count=1024,first_job=7085": (
        1024, "sha256:45404ee51ad33b63328bdb27ded12c4539fbe1c6c012a680e1ee9a0c8fe276b0",
    ),
    "lublin_256_new2:estimates=exact,job_count=1024,first_job=1981": (
        1024, "sha256:d19908c7f59816c7ce74f7b48da79d56d407f7c23b5ef0156b80577b38e6b984",
    ),
    "lublin_256_new2:estimates=exact,job_count=1024,first_job=2756": (
        1024, "sha256:cebbfc55dcfca8ce38a6420abdf463c6a7fb0392a5f66b17a00b4115227a37d9",
    ),
    "lublin_256_new2:estimates=exact,job_count=1024,first_job=4299": (
        1024, "sha256:04e0947533f008b6b234a48c4f2822611cb816bcd0c7dbae20966f8b8534666f",
    ),
    "lublin_256_new2:estimates=exact,job_count=1024,first_job=8850": (
        1024, "sha256:22049180ef53bf34c2caff12cbc35792807e43e53faaa906c1ae9b8f846b6536",
    ),
    "lublin_256_new2:estimates=exact,job_count=1024,first_job=3316": (
        1024, "sha256:d14697456d7040bb79345c3a2c5a6b20f1e509260cb6d02036473cdddf529bb4",
    ),
    "lublin_256_new2:estimates=exact,job_count=1024,first_job=2714": (
        1024, "sha256:f42a1578875fb5ac358d3a1a757a10c8d220b8a3c4f113bbaa369d3cc97dc0e8",
    ),
    "lublin_256_new2:estimates=exact,job_count=1024,first_job=5228": (
        1024, "sha256:5d280ebc08a410fc0af9f8bbe8e7c54ebaebb8b3a31239c0951029b12cd43b3b",
    ),
    "lublin_256_new2:estimates=exact,job_count=1024,first_job=7762": (
        1024, "sha256:3585fa2d9558bead37e59b0ac680f37fe4151df1958e2dd40eb1d7f9912f03a4",
    ),
    "lublin_256_new2:estimates=exact,job_count=1024,first_job=4022": (
        1024, "sha256:356673ee4b858ef4865e527b3ca45d569ffd9a0ffd961b7a90d4813298d993c3",
    ),
    "lublin_256_new2:estimates=exact,job_count=1024,first_job=7085": (
        1024, "sha256:683e4a28248f299a4f160ee9953989a64b9258f13b73fe5f61de58a9ad63f661",
    ),
    "lublin:procs=32,jobs=200,load=0.8,seed=1000000": (
        200, "sha256:548769b36402687a15d6d2759c15dc24c7e4eb9d98861733cef18c99ce866f0b",
    ),
    "lublin:procs=32,jobs=200,load=0.8,seed=1000001": (
        200, "sha256:36cd8d3fc155de8538446958c8b83454ade0c7a6352dae8635cdc01a9e2eee34",
    ),
    "lublin:procs=64,jobs=300,load=0.9,seed=1000000": (
        300, "sha256:6d595e3e1f8bc887805a73880eadec78ab5816e1ad43dd7c60658f28cb227589",
    ),
    "lublin:procs=64,jobs=300,load=0.9,seed=1000001": (
        300, "sha256:ff4d4d74853f2184263ad04e86fc73ec9a34de564586fec95d2fa65332dc8cff",
    ),
})
