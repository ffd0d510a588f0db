// Package host wires hotcell together: skills, journal, driver, images, services and the supervisor above them, as a
// configuration has it. The program hotcell and Go programs that embed it open the same.
//
// It opens no door and prints nothing: who uses it serves what it returns.
package host
