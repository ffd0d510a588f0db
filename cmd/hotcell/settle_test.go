package main

import (
	"os"
	"strings"
	"testing"
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

// A program goes on as before once its pages are given back.
func TestSettle(t *testing.T) {
	for range 3 {
		settle()
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Skip(err)
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
