package gate

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
)

// LoaderSays is the line with which the loader answers a length of zero.
const LoaderSays = "hotcell-loader"

// The loader's machine code: loader.asm, as the GNU assembler translates it.
const loaderCode = "4989e44881ec00000100ba08000000e8cb0000004883f808757f4c8b2c244d85ed751aba0f000000488d35bc000000bf01000000b8010000000f05eb" +
	"cd488d3db6000000be03000000b83f0100000f0585c078394189c64d85ed7444ba000001004939d5490f42d5e8720000004885c07e274929c54889c2" +
	"4989c74489f74889e6b8010000000f054c39f874cabf7e000000b8e70000000f05bf01000000ebf24489f7be09040000ba0f000000b8480000000f05" +
	"85c075d5498b14244d8d54d410498d542408488d35330000004489f741b800100000b8420100000f05ebae31ff488d74240831c00f05c3686f746365" +
	"6c6c2d6c6f616465720a72756e6e657200"

// Loader is a program of a few hundred bytes, small enough for a ConfigMap, that becomes the runner: it reads a length of eight bytes, the
// lowest first, and then as many bytes of a program from its stdin, and executes those with its own arguments, sealed against any change. A length of zero it
// answers with [LoaderSays]. It ends with 126 where its machine does not let it execute what is in memory alone, and with 1 where not all of
// it comes. Nil for an architecture for which there is none.
func Loader(arch string) []byte {
	if arch != "amd64" {
		return nil
	}
	const base, head = 0x400000, 64 + 2*56 // headers of the file and of two segments
	code, err := hex.DecodeString(loaderCode)
	if err != nil {
		return nil
	}
	size := uint64(head + len(code))
	var b bytes.Buffer
	b.WriteString("\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	for _, part := range []any{
		uint16(2), uint16(62), uint32(1), uint64(base + head), uint64(64), uint64(0), uint32(0), // a program, x86-64, its entry
		uint16(64), uint16(56), uint16(2), uint16(0), uint16(0), uint16(0),
		uint32(1), uint32(5), uint64(0), uint64(base), uint64(base), size, size, uint64(4096), // all of it, to read and to execute
		uint32(0x6474e551), uint32(6), uint64(0), uint64(0), uint64(0), uint64(0), uint64(0), uint64(16), // its stack is not executed
	} {
		_ = binary.Write(&b, binary.LittleEndian, part) // a buffer takes all
	}
	b.Write(code)
	return b.Bytes()
}
