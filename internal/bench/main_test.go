//go:build unix

package bench

import (
	"testing"

	"github.com/calldibs/dibs/internal/etcdtest"
)

func TestMain(m *testing.M) { etcdtest.Main(m) }
