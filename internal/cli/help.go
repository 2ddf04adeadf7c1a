package cli

const rootHelp = `Dibs manages names that must belong to one owner: slugs, usernames, emails, tenant
codes. A name is reserved for a limited time, then confirmed for the entity that owns
it, or released.

--store opens a database directly, --server calls a running server. The variables
DIBS_STORE and DIBS_SERVER replace these flags.

Write an entity as type/id, such as user/42. A value of - is read from stdin, so that
it stays out of the shell's history; if a command takes several values, - reads one
from each line. Times are in UTC.

Exit codes:
  0  done
  1  unexpected error
  2  invalid command line; nothing was done
  3  the name is taken, or check found one that is not available
  4  no such name, reservation or entity, or the name does not resolve
  5  refused for another reason
  6  the engine or the server is unavailable, or the outcome is unknown`

const rootExample = `  export DIBS_STORE=sqlite:dibs.db
  dibs reserve slug alice-bob --ttl 15m
  dibs confirm res_… --token … --entity wedding/42
  dibs resolve slug alice-bob`
