/* The bytes of [vdso], made by kernel/vdso/build.mk. */
    .section .rodata
    .globl vdso_image, vdso_image_end
vdso_image:
    .incbin "vdso/vdso.so"
vdso_image_end:
    .section .note.GNU-stack, "", @progbits
