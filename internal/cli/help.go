package cli

const rootHelp = `Dibs hands out names that must belong to one owner: slugs, usernames, emails,
tenant codes. A name is reserved for a limited time, then confirmed for the entity
that owns it, or released.

Say where the names are: --store opens a database right here, --server speaks to
a running server. DIBS_STORE and DIBS_SERVER say the same for a whole shell.

An entity is written type/id, such as user/42. A value of - is read from stdin, so
that it stays out of the shell's history; where several values are taken, - reads
one from each line. Times are in UTC.

Exit codes:
  0  done
  1  something unexpected went wrong
  2  the command line is not right; nothing was done
  3  the name is taken, or check found one that is not available
  4  there is no such name, reservation or entity, or resolve leads nowhere
  5  refused for another reason
  6  the engine or the server cannot be reached, or it is unknown whether it happened`

const rootExample = `  export DIBS_STORE=sqlite:dibs.db
  dibs reserve slug alice-bob --ttl 15m
  dibs confirm res_… --token … --entity wedding/42
  dibs resolve slug alice-bob`
