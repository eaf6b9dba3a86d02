/** What a screen reader is told without moving the focus. */

class Announcer {
  text = $state("");

  say(text: string): void {
    // The same words twice are only heard if the text changes in between.
    this.text = this.text === text ? `${text}\u00a0` : text;
  }
}

export const announcer = new Announcer();
