// Command waiter is what a skill does whose image holds nothing else: it answers at once, writes to folders, or says that
// it is up and waits.
package main

import (
	"fmt"
	"os"
	"time"
)

func main() {
	args := append(os.Args[1:], "wait")
	switch args[0] {
	case "quick":
		fmt.Println(42)
	case "write":
		for _, dir := range os.Args[2:] {
			if err := os.WriteFile(dir+"/file", []byte("x"), 0o600); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
		fmt.Println(`"written"`)
	default:
		fmt.Println("up")
		time.Sleep(10 * time.Minute)
	}
}
