package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hotcell/hotcell/internal/testutil"
)

func TestUnchanging(t *testing.T) {
	const program = "/usr/bin/hotcell"
	for line, want := range map[string]bool{
		"00400000-014b7000 r-xp 00000000 fe:00 10029459                           /usr/bin/hotcell":   true,
		"014b7000-036ec000 r--p 010b7000 fe:00 10029459                           /usr/bin/hotcell":   true,
		"036ec000-037dc000 rw-p 032ec000 fe:00 10029459                           /usr/bin/hotcell":   false,
		"014b7000-036ec000 r--s 010b7000 fe:00 10029459                           /usr/bin/hotcell":   false,
		"014b7000-036ec000 r--p 010b7000 fe:00 10029459                           /usr/lib/libc.so.6": false,
		"7fd6bd6cf000-7fd6bd80f000 r--p 00000000 00:00 0 ":                                            false,
		"": false,
	} {
		from, to, ok := unchanging(line, program)
		if ok != want || ok && (from >= to || from%4096 != 0) {
			t.Errorf("%q: %x-%x, %v", line, from, to, ok)
		}
	}
}

// What was written to before it was protected, as a program that is loaded anywhere has it, is not given back.
func TestUnchanged(t *testing.T) {
	const program = "/usr/bin/hotcell"
	part := func(head, anonymous string) string {
		return head + "\nSize: 4 kB\nPrivate_Dirty: 0 kB\nAnonymous:   " + anonymous + "\nVmFlags: rd mr mw me\n"
	}
	smaps := part("00400000-00595000 r-xp 00000000 fe:00 1   "+program, "      0 kB") +
		part("00595000-00762000 r--p 00195000 fe:00 1   "+program, "    376 kB") +
		part("00762000-007a7000 rw-p 00362000 fe:00 1   "+program, "      0 kB") +
		part("7fd6bd6cf000-7fd6bd80f000 r--p 00000000 00:00 0 ", "      0 kB")
	if got := unchanged(strings.NewReader(smaps), program); len(got) != 1 || got[0] != (area{0x400000, 0x595000}) {
		t.Errorf("got %x", got)
	}
	testutil.Require(t, "linux")
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if len(unchanged(f, self)) == 0 {
		t.Error("no part of this program is found")
	}
}

// What comes back after it was given back comes page by page, however the file is cached.
func TestSettledPagesAreSmall(t *testing.T) {
	testutil.Require(t, "linux")
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip("this kernel has no huge pages")
	}
	settle()
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range unchanged(strings.NewReader(string(smaps)), self) {
		_, part, _ := strings.Cut("\n"+string(smaps), fmt.Sprintf("\n%08x-", a.from))
		_, flags, _ := strings.Cut(part, "VmFlags:")
		if flags, _, _ = strings.Cut(flags, "\n"); !slices.Contains(strings.Fields(flags), "nh") {
			t.Errorf("the part at %x may be in huge pages: %s", a.from, flags)
		}
	}
}

// A program goes on as before once its pages are given back.
func TestSettle(t *testing.T) {
	testutil.Require(t, "linux")
	for range 3 {
		settle()
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for line := range strings.Lines(string(maps)) {
		if _, _, ok := unchanging(strings.TrimSuffix(line, "\n"), self); ok {
			found++
		}
	}
	if found == 0 {
		t.Errorf("no part of %s is found in\n%s", self, maps)
	}
}
