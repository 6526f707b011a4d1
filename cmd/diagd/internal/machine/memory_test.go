package machine

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMachineMemory(t *testing.T) {
	const total = "MemTotal:        8052336 kB\nMemFree: 1 kB\n"
	for _, test := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"nothing", nil, 0},
		{"machine", map[string]string{"proc/meminfo": total}, 8052336 << 10},
		{"no limit", map[string]string{"proc/meminfo": total, "sys/fs/cgroup/memory.max": "max\n"}, 8052336 << 10},
		{"container", map[string]string{
			"proc/meminfo": total, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "536870912\n"}, 512 << 20},
		{"service", map[string]string{
			"proc/meminfo": total, "proc/self/cgroup": "1:name=x:/a\n0::/system.slice/diagd.service\n",
			"sys/fs/cgroup/system.slice/diagd.service/memory.max": "1073741824\n"}, 1 << 30},
		{"slice around the service", map[string]string{
			"proc/self/cgroup": "0::/system.slice/diagd.service\n",
			"sys/fs/cgroup/system.slice/diagd.service/memory.max": "max\n",
			"sys/fs/cgroup/system.slice/memory.max":               "1073741824\n"}, 1 << 30},
		{"version 1", map[string]string{
			"proc/meminfo": total, "sys/fs/cgroup/memory/memory.limit_in_bytes": "268435456\n"}, 256 << 20},
		{"version 1 without a limit", map[string]string{
			"proc/meminfo": total, "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 8052336 << 10},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			for name, text := range test.files {
				path := filepath.Join(root, name)
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
			}
			assert.Equal(t, test.want, machineMemory(root))
		})
	}
}
