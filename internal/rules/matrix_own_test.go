package rules_test

// Claim by each user, and Rename by user/1.
const claimTable = `
state            claim-own      claim-fresh        claim-named        rename-own     rename-own-right
absent           ok:active+1    ok:active+1        HASNAME            ok:active+1    ok:active+1
released         ok:active+1    ok:active+1        HASNAME            ok:active+1    ok:active+1
expired          ok:active+1    ok:active+1        HASNAME            ok:active+1    ok:active+1
held             TAKEN/held     TAKEN/held         TAKEN/held         TAKEN/held     ok:active
held-for         TAKEN/held     TAKEN/held         TAKEN/held         TAKEN/held     ok:active
lapsed           ok:active+1    ok:active+1        HASNAME            ok:active+1    ok:active+1
suspect          TAKEN/suspect  TAKEN/suspect      TAKEN/suspect      TAKEN/suspect  ok:active
suspect-unswept  TAKEN/suspect  TAKEN/suspect      TAKEN/suspect      TAKEN/suspect  ok:active
active           replay:active  TAKEN/in_use       TAKEN/in_use       replay:active  replay:active
claimed          replay:active  TAKEN/in_use       TAKEN/in_use       replay:active  replay:active
archived         replay:active  TAKEN/in_use       TAKEN/in_use       replay:active  replay:active
deleting         TAKEN/in_use   TAKEN/in_use       TAKEN/in_use       ARCHIVED       ARCHIVED
alias            TAKEN/in_use   TAKEN/in_use       TAKEN/in_use       ok:active      ok:active
alias-over       HASNAME        ok:active+1        HASNAME            ok:active+1    ok:active+1
alias-archived   TAKEN/in_use   TAKEN/in_use       TAKEN/in_use       ARCHIVED       ARCHIVED
given-up         ok:active+1    ok:active+1        HASNAME            ok:active+1    ok:active+1
quarantined      ok:active+1    TAKEN/quarantined  TAKEN/quarantined  ok:active+1    ok:active+1
quarantine-over  ok:active+1    ok:active+1        HASNAME            ok:active+1    ok:active+1
held-out         TAKEN/held     TAKEN/held         TAKEN/held         TAKEN/held     ok:active
back-in          ok:active+1    TAKEN/quarantined  TAKEN/quarantined  ok:active+1    ok:active+1
spent            ok:active+1    ok:active+1        HASNAME            ok:active+1    ok:active+1
spent-held       TAKEN/held     TAKEN/held         TAKEN/held         TAKEN/held     TAKEN/held
`

// Rename to x by user/2, who has another name.
const renameTable = `
state            rename-none        rename-right       rename-bob         rename-wrong
absent           ok:active+1        ok:active+1        ok:active+1        ok:active+1
released         ok:active+1        ok:active+1        ok:active+1        ok:active+1
expired          ok:active+1        ok:active+1        ok:active+1        ok:active+1
held             TAKEN/held         ok:active          TAKEN/held         TAKEN/held
held-for         TAKEN/held         NOTOWNER           TAKEN/held         TAKEN/held
lapsed           ok:active+1        ok:active+1        ok:active+1        ok:active+1
suspect          TAKEN/suspect      ok:active          TAKEN/suspect      TAKEN/suspect
suspect-unswept  TAKEN/suspect      ok:active          TAKEN/suspect      TAKEN/suspect
active           TAKEN/in_use       TAKEN/in_use       TAKEN/in_use       TAKEN/in_use
claimed          TAKEN/in_use       TAKEN/in_use       TAKEN/in_use       TAKEN/in_use
archived         TAKEN/in_use       TAKEN/in_use       TAKEN/in_use       TAKEN/in_use
deleting         TAKEN/in_use       TAKEN/in_use       TAKEN/in_use       TAKEN/in_use
alias            TAKEN/in_use       TAKEN/in_use       TAKEN/in_use       TAKEN/in_use
alias-over       ok:active+1        ok:active+1        ok:active+1        ok:active+1
alias-archived   TAKEN/in_use       TAKEN/in_use       TAKEN/in_use       TAKEN/in_use
given-up         ok:active+1        ok:active+1        ok:active+1        ok:active+1
quarantined      TAKEN/quarantined  TAKEN/quarantined  TAKEN/quarantined  TAKEN/quarantined
quarantine-over  ok:active+1        ok:active+1        ok:active+1        ok:active+1
held-out         TAKEN/held         NOTOWNER           TAKEN/held         TAKEN/held
back-in          TAKEN/quarantined  TAKEN/quarantined  TAKEN/quarantined  TAKEN/quarantined
spent            ok:active+1        ok:active+1        ok:active+1        ok:active+1
spent-held       TAKEN/held         TAKEN/held         TAKEN/held         TAKEN/held
`

// Archive, Restore and Delete of user/1, and Decommission of x.
const entityTable = `
state            archive                  restore                      delete                   decommission-own             decommission-other
absent           NOENTITY                 NOENTITY                     NOENTITY                 NOTFOUND                     NOTFOUND
released         NOENTITY                 NOENTITY                     NOENTITY                 NOTFOUND                     NOTFOUND
expired          NOENTITY                 NOENTITY                     NOENTITY                 NOTFOUND                     NOTFOUND
held             NOENTITY                 NOENTITY                     NOENTITY                 NOTOWNER                     NOTOWNER
held-for         NOENTITY                 NOENTITY                     NOENTITY                 NOTOWNER                     NOTOWNER
lapsed           NOENTITY                 NOENTITY                     NOENTITY                 NOTFOUND                     NOTFOUND
suspect          NOENTITY                 NOENTITY                     NOENTITY                 NOTOWNER                     NOTOWNER
suspect-unswept  NOENTITY                 NOENTITY                     NOENTITY                 NOTOWNER                     NOTOWNER
active           ok:active                replay:active                ok:free.released         ok:free.released             NOTOWNER
claimed          ok:active                replay:active                ok:free.released         ok:free.released             NOTOWNER
archived         replay:active            ok:active                    ok:free.released         ok:free.released             NOTOWNER
deleting         NOENTITY                 NOENTITY                     replay:active            NOENTITY                     NOTOWNER
alias            ok:alias                 replay:alias                 ok:free.released         ok:free.released             NOTOWNER
alias-over       ok:free.released         replay:free.released         ok:free.released         replay:free.released         NOTFOUND
alias-archived   replay:alias             ok:alias                     ok:free.released         ok:free.released             NOTOWNER
given-up         ok:free.released         replay:free.released         ok:free.released         replay:free.released         NOTFOUND
quarantined      ok:quarantined.released  replay:quarantined.released  ok:quarantined.released  replay:quarantined.released  NOTOWNER
quarantine-over  ok:free.released         replay:free.released         ok:free.released         replay:free.released         NOTFOUND
held-out         ok:held                  replay:held                  ok:held                  NOTOWNER                     NOTOWNER
back-in          ok:quarantined.released  replay:quarantined.released  ok:quarantined.released  replay:quarantined.released  NOTOWNER
spent            NOENTITY                 NOENTITY                     NOENTITY                 NOTFOUND                     NOTFOUND
spent-held       NOENTITY                 NOENTITY                     NOENTITY                 NOTOWNER                     NOTOWNER
`

// Transfer from user/1 to user/3 and user/2, and from user/2 to user/1; Swap of user/1's x for user/2's y,
// the same as it stands afterwards, and for a name that user/3 does not have.
const exchangeTable = `
state            transfer-fresh  transfer-named  transfer-back  swap         swap-done      swap-fresh
absent           NOTFOUND        NOTFOUND        NOTFOUND       NOTOWNER     NOTOWNER       NOTOWNER
released         NOTFOUND        NOTFOUND        NOTFOUND       NOTOWNER     NOTOWNER       NOTOWNER
expired          NOTFOUND        NOTFOUND        NOTFOUND       NOTOWNER     NOTOWNER       NOTOWNER
held             NOTOWNER        NOTOWNER        NOTOWNER       NOTOWNER     NOTOWNER       NOTOWNER
held-for         NOTOWNER        NOTOWNER        NOTOWNER       NOTOWNER     NOTOWNER       NOTOWNER
lapsed           NOTFOUND        NOTFOUND        NOTFOUND       NOTOWNER     NOTOWNER       NOTOWNER
suspect          NOTOWNER        NOTOWNER        NOTOWNER       NOTOWNER     NOTOWNER       NOTOWNER
suspect-unswept  NOTOWNER        NOTOWNER        NOTOWNER       NOTOWNER     NOTOWNER       NOTOWNER
active           ok:active+1     HASNAME         replay:active  ok:active+1  replay:active  NOTOWNER
claimed          ok:active+1     HASNAME         replay:active  ok:active+1  replay:active  NOTOWNER
archived         ARCHIVED        ARCHIVED        replay:active  ARCHIVED     replay:active  NOTOWNER
deleting         NOENTITY        NOENTITY        NOTOWNER       NOENTITY     NOTOWNER       NOTOWNER
alias            ok:active+1     HASNAME         replay:alias   NOTOWNER     NOTOWNER       NOTOWNER
alias-over       NOTFOUND        NOTFOUND        NOTFOUND       NOTOWNER     NOTOWNER       NOTOWNER
alias-archived   ARCHIVED        ARCHIVED        replay:alias   NOTOWNER     NOTOWNER       NOTOWNER
given-up         NOTFOUND        NOTFOUND        NOTFOUND       NOTOWNER     NOTOWNER       NOTOWNER
quarantined      NOTOWNER        NOTOWNER        NOTOWNER       NOTOWNER     NOTOWNER       NOTOWNER
quarantine-over  NOTFOUND        NOTFOUND        NOTFOUND       NOTOWNER     NOTOWNER       NOTOWNER
held-out         NOTOWNER        NOTOWNER        NOTOWNER       NOTOWNER     NOTOWNER       NOTOWNER
back-in          NOTOWNER        NOTOWNER        NOTOWNER       NOTOWNER     NOTOWNER       NOTOWNER
spent            NOTFOUND        NOTFOUND        NOTFOUND       NOTOWNER     NOTOWNER       NOTOWNER
spent-held       NOTOWNER        NOTOWNER        NOTOWNER       NOTOWNER     NOTOWNER       NOTOWNER
`

// Sweep, and the questions.
const readTable = `
state            sweep                        resolve  check        check-own
absent           replay:none                  404      free         free
released         replay:free.released         404      free         free
expired          replay:free.expired          404      free         free
held             replay:held                  404      held         held
held-for         replay:held                  404      held         held
lapsed           ok:free.expired              404      free         free
suspect          replay:suspect               404      suspect      suspect
suspect-unswept  ok:suspect                   404      suspect      suspect
active           replay:active                200      in_use       in_use
claimed          replay:active                200      in_use       in_use
archived         replay:active                404      in_use       in_use
deleting         ok:free.released             410      in_use       in_use
alias            replay:alias                 301      in_use       in_use
alias-over       ok:free.released             404      free         free
alias-archived   replay:alias                 404      in_use       in_use
given-up         replay:free.released         404      free         free
quarantined      replay:quarantined.released  410      quarantined  free
quarantine-over  ok:free.released             404      free         free
held-out         replay:held                  404      held         held
back-in          replay:quarantined.released  410      quarantined  free
spent            replay:free.released         404      free         free
spent-held       replay:held                  404      held         held
`
