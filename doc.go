// Package dibs hands out names that must belong to one owner.
package dibs
