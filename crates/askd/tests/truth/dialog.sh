#!/bin/bash
# A dialog as Claude Code draws it, for what the real program does too rarely. Keys move the focus and write own words; Enter picks.
# IGNORES=N: so many times Enter does nothing. STOPS=FILE: at an Enter the program stands still until this file is there.
# The choice is written into the file $CHOSEN.
stty raw -echo
focus=1 words='' entered=0
rule=$(printf '─%.0s' {1..100})

row() { # NUMBER TEXT
  if [ "$focus" = "$1" ]; then printf '❯ %s. %s\r\n' "$1" "$2"; else printf '  %s. %s\r\n' "$1" "$2"; fi
}

draw() {
  printf '\033[H\033[2J%s\r\n ☐ H\r\n\r\nWhich?\r\n\r\n' "$rule"
  row 1 A; printf '     a\r\n'; row 2 B; printf '     b\r\n'; row 3 "${words:-Type something.}"
  printf '%s\r\n' "$rule"; row 4 'Chat about this'
  printf '\r\nEnter to select · ↑/↓ to navigate · Esc to cancel\r\n'
}

draw
while IFS= read -rsn1 key; do
  case $key in
    $'\e')
      IFS= read -rsn2 -t 1 arrow
      case $arrow in
        *A) [ "$focus" -gt 1 ] && focus=$((focus - 1)) ;;
        *B) [ "$focus" -lt 4 ] && focus=$((focus + 1)) ;;
      esac ;;
    '') # Enter ends what bash reads.
      entered=$((entered + 1))
      # tmux continues a program that was stopped by a signal.
      while [ -n "$STOPS" ] && [ ! -e "$STOPS" ]; do sleep 0.1; done
      if [ "$entered" -gt "${IGNORES:-0}" ]; then
        printf '\033[H\033[2JDone.\r\n'
        printf '%s %s\n' "$focus" "$words" > "$CHOSEN"
        exec sleep 600
      fi ;;
    $'\x15') [ "$focus" = 3 ] && words='' ;;
    *)
      # All that was pasted is one piece.
      while IFS= read -rsn1 -t 0.05 more; do key+=$more; done
      [ "$focus" = 3 ] && words+=$key ;;
  esac
  draw
done
