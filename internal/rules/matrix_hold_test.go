package rules_test

// Extend and Release.
const holdTable = `
state            extend-right  extend-bob  extend-wrong  extend-none  release-right                release-bob  release-wrong  release-none
absent           NOTFOUND      NOTFOUND    NOTFOUND      TOKEN        NOTFOUND                     NOTFOUND     NOTFOUND       TOKEN
released         RELEASED      LOST        LOST          TOKEN        replay:free.released         LOST         LOST           TOKEN
expired          EXPIRED       LOST        LOST          TOKEN        EXPIRED                      LOST         LOST           TOKEN
held             ok:held       LOST        LOST          TOKEN        ok:free.released             LOST         LOST           TOKEN
held-for         ok:held       LOST        LOST          TOKEN        ok:free.released             LOST         LOST           TOKEN
lapsed           EXPIRED       LOST        LOST          TOKEN        EXPIRED                      LOST         LOST           TOKEN
suspect          ok:held       LOST        LOST          TOKEN        ok:free.released             LOST         LOST           TOKEN
suspect-unswept  ok:held       LOST        LOST          TOKEN        ok:free.released             LOST         LOST           TOKEN
active           CONFIRMED     LOST        LOST          TOKEN        CONFIRMED                    LOST         LOST           TOKEN
claimed          LOST          LOST        LOST          TOKEN        LOST                         LOST         LOST           TOKEN
archived         CONFIRMED     LOST        LOST          TOKEN        CONFIRMED                    LOST         LOST           TOKEN
deleting         CONFIRMED     LOST        LOST          TOKEN        CONFIRMED                    LOST         LOST           TOKEN
alias            CONFIRMED     LOST        LOST          TOKEN        CONFIRMED                    LOST         LOST           TOKEN
alias-over       CONFIRMED     LOST        LOST          TOKEN        CONFIRMED                    LOST         LOST           TOKEN
alias-archived   CONFIRMED     LOST        LOST          TOKEN        CONFIRMED                    LOST         LOST           TOKEN
given-up         CONFIRMED     LOST        LOST          TOKEN        CONFIRMED                    LOST         LOST           TOKEN
quarantined      CONFIRMED     LOST        LOST          TOKEN        CONFIRMED                    LOST         LOST           TOKEN
quarantine-over  CONFIRMED     LOST        LOST          TOKEN        CONFIRMED                    LOST         LOST           TOKEN
held-out         ok:held       LOST        LOST          TOKEN        ok:quarantined.released      LOST         LOST           TOKEN
back-in          RELEASED      LOST        LOST          TOKEN        replay:quarantined.released  LOST         LOST           TOKEN
spent            LOST          LOST        LOST          TOKEN        LOST                         LOST         LOST           TOKEN
spent-held       LOST          LOST        LOST          TOKEN        LOST                         LOST         LOST           TOKEN
`

// Confirm for user/1, for user/3 who has no name, and for user/2 who has one.
const confirmTable = `
state            confirm-own    confirm-fresh  confirm-named  confirm-bob  confirm-wrong  confirm-none
absent           NOTFOUND       NOTFOUND       NOTFOUND       NOTFOUND     NOTFOUND       TOKEN
released         RELEASED       RELEASED       RELEASED       LOST         LOST           TOKEN
expired          EXPIRED        EXPIRED        EXPIRED        LOST         LOST           TOKEN
held             ok:active      ok:active      HASNAME        LOST         LOST           TOKEN
held-for         ok:active      NOTOWNER       NOTOWNER       LOST         LOST           TOKEN
lapsed           EXPIRED        EXPIRED        EXPIRED        LOST         LOST           TOKEN
suspect          ok:active      ok:active      HASNAME        LOST         LOST           TOKEN
suspect-unswept  ok:active      ok:active      HASNAME        LOST         LOST           TOKEN
active           replay:active  CONFIRMED      CONFIRMED      LOST         LOST           TOKEN
claimed          LOST           LOST           LOST           LOST         LOST           TOKEN
archived         replay:active  CONFIRMED      CONFIRMED      LOST         LOST           TOKEN
deleting         CONFIRMED      CONFIRMED      CONFIRMED      LOST         LOST           TOKEN
alias            replay:alias   CONFIRMED      CONFIRMED      LOST         LOST           TOKEN
alias-over       RELEASED       RELEASED       RELEASED       LOST         LOST           TOKEN
alias-archived   replay:alias   CONFIRMED      CONFIRMED      LOST         LOST           TOKEN
given-up         RELEASED       RELEASED       RELEASED       LOST         LOST           TOKEN
quarantined      RELEASED       RELEASED       RELEASED       LOST         LOST           TOKEN
quarantine-over  RELEASED       RELEASED       RELEASED       LOST         LOST           TOKEN
held-out         ok:active      NOTOWNER       NOTOWNER       LOST         LOST           TOKEN
back-in          RELEASED       RELEASED       RELEASED       LOST         LOST           TOKEN
spent            LOST           LOST           LOST           LOST         LOST           TOKEN
spent-held       LOST           LOST           LOST           LOST         LOST           TOKEN
`

// Confirm with Replace; where the column does not say own it is for user/2, who has a name.
const replaceTable = `
state            replace-own    replace-named  replace-bob  replace-wrong  replace-none
absent           NOTFOUND       NOTFOUND       NOTFOUND     NOTFOUND       TOKEN
released         RELEASED       RELEASED       LOST         LOST           TOKEN
expired          EXPIRED        EXPIRED        LOST         LOST           TOKEN
held             ok:active      ok:active      LOST         LOST           TOKEN
held-for         ok:active      NOTOWNER       LOST         LOST           TOKEN
lapsed           EXPIRED        EXPIRED        LOST         LOST           TOKEN
suspect          ok:active      ok:active      LOST         LOST           TOKEN
suspect-unswept  ok:active      ok:active      LOST         LOST           TOKEN
active           replay:active  CONFIRMED      LOST         LOST           TOKEN
claimed          LOST           LOST           LOST         LOST           TOKEN
archived         replay:active  CONFIRMED      LOST         LOST           TOKEN
deleting         CONFIRMED      CONFIRMED      LOST         LOST           TOKEN
alias            replay:alias   CONFIRMED      LOST         LOST           TOKEN
alias-over       RELEASED       RELEASED       LOST         LOST           TOKEN
alias-archived   replay:alias   CONFIRMED      LOST         LOST           TOKEN
given-up         RELEASED       RELEASED       LOST         LOST           TOKEN
quarantined      RELEASED       RELEASED       LOST         LOST           TOKEN
quarantine-over  RELEASED       RELEASED       LOST         LOST           TOKEN
held-out         ok:active      NOTOWNER       LOST         LOST           TOKEN
back-in          RELEASED       RELEASED       LOST         LOST           TOKEN
spent            LOST           LOST           LOST         LOST           TOKEN
spent-held       LOST           LOST           LOST         LOST           TOKEN
`

// Settle, by an operator and by a guest.
const settleTable = `
state            exists-own     exists-fresh  exists-named  absent               absent-guest
absent           NOTFOUND       NOTFOUND      NOTFOUND      NOTFOUND             NOTOWNER
released         RELEASED       RELEASED      RELEASED      RELEASED             NOTOWNER
expired          EXPIRED        EXPIRED       EXPIRED       replay:free.expired  NOTOWNER
held             TAKEN/held     TAKEN/held    TAKEN/held    TAKEN/held           NOTOWNER
held-for         TAKEN/held     TAKEN/held    TAKEN/held    TAKEN/held           NOTOWNER
lapsed           EXPIRED        EXPIRED       EXPIRED       replay:free.expired  NOTOWNER
suspect          ok:active      ok:active     HASNAME       ok:free.expired      NOTOWNER
suspect-unswept  ok:active      ok:active     HASNAME       ok:free.expired      NOTOWNER
active           replay:active  CONFIRMED     CONFIRMED     CONFIRMED            NOTOWNER
claimed          replay:active  CONFIRMED     CONFIRMED     CONFIRMED            NOTOWNER
archived         replay:active  CONFIRMED     CONFIRMED     CONFIRMED            NOTOWNER
deleting         CONFIRMED      CONFIRMED     CONFIRMED     CONFIRMED            NOTOWNER
alias            replay:alias   CONFIRMED     CONFIRMED     CONFIRMED            NOTOWNER
alias-over       CONFIRMED      CONFIRMED     CONFIRMED     CONFIRMED            NOTOWNER
alias-archived   replay:alias   CONFIRMED     CONFIRMED     CONFIRMED            NOTOWNER
given-up         CONFIRMED      CONFIRMED     CONFIRMED     CONFIRMED            NOTOWNER
quarantined      CONFIRMED      CONFIRMED     CONFIRMED     CONFIRMED            NOTOWNER
quarantine-over  CONFIRMED      CONFIRMED     CONFIRMED     CONFIRMED            NOTOWNER
held-out         TAKEN/held     TAKEN/held    TAKEN/held    TAKEN/held           NOTOWNER
back-in          RELEASED       RELEASED      RELEASED      RELEASED             NOTOWNER
spent            RELEASED       RELEASED      RELEASED      RELEASED             NOTOWNER
spent-held       TAKEN/held     TAKEN/held    TAKEN/held    TAKEN/held           NOTOWNER
`
