// Command waiter is what a skill on an engine of the test's own does: it answers at once, or says that it is up and waits.
package main

import (
	"fmt"
	"os"
	"time"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "quick" {
		fmt.Println(42)
		return
	}
	fmt.Println("up")
	time.Sleep(10 * time.Minute)
}
