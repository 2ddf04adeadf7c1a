module github.com/calldibs/dibs

go 1.26
