package runner

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

// sessionOf returns the processes of a session that still run, zombies left out. It knows nothing where /proc cannot be
// read.
func sessionOf(sid int) (pids []int, known bool) {
	known = eachProcess(func(pid int) {
		session, _, errno := syscall.Syscall(syscall.SYS_GETSID, uintptr(pid), 0, 0)
		if errno == 0 && int(session) == sid && runs(pid) {
			pids = append(pids, pid)
		}
	})
	return pids, known
}

// runs says that the process has not ended.
func runs(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	// pid (name) state ...; the name may hold anything
	state := stat[bytes.LastIndexByte(stat, ')')+1:]
	return len(state) > 1 && state[1] != 'Z' && state[1] != 'X'
}

// endNamespace kills pid, the first process of a name space of processes, and waits until all in it has ended, for endWait
// at most. ns is the name space's number: a process that has got the same pid since is left alone.
func endNamespace(pid int, ns int64) {
	pause := time.Millisecond
	for end := time.Now().Add(endWait); pid > 0 && runs(pid) && time.Now().Before(end); {
		got, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/pid")
		if err == nil && got != fmt.Sprintf("pid:[%d]", ns) {
			return
		}
		_ = syscall.Kill(pid, syscall.SIGKILL)
		time.Sleep(pause)
		pause = min(pause+pause/2, 20*time.Millisecond)
	}
}

// namespaceOf counts the processes that are in the same name space of processes as pid.
func namespaceOf(pid int) (n int) {
	want, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/pid")
	if err != nil {
		return 0 // it has ended
	}
	eachProcess(func(other int) {
		if got, err := os.Readlink("/proc/" + strconv.Itoa(other) + "/ns/pid"); err == nil && got == want {
			n++
		}
	})
	return n
}

// eachProcess calls f for every process. It returns false where it cannot know them.
func eachProcess(f func(pid int)) bool {
	proc, err := os.Open("/proc")
	if err != nil {
		return false
	}
	defer proc.Close() //nolint:errcheck // only read
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return false
	}
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			f(pid)
		}
	}
	return true
}
