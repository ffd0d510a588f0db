package testutil

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// axeLock names the version of axe-core, from the module's root.
const axeLock = "integration/console/axe/package-lock.json"

// Axe is the script that scripts/axe brings: it defines axe in a page.
func Axe(t testing.TB) string {
	t.Helper()
	file, err := axeFile()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func haveAxe(context.Context) error {
	_, err := axeFile()
	return err
}

func axeFile() (string, error) {
	folder, err := cached("axe", axeLock)
	if err != nil {
		return "", err
	}
	file := filepath.Join(folder, "axe.min.js")
	if _, err := os.Stat(file); err != nil {
		return "", fmt.Errorf("axe-core is not there (%w): run scripts/axe", err)
	}
	return file, nil
}
