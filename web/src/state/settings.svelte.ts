/** What a person chose for this browser. */

import { read, write } from "./storage.ts";

export type Grouping = "project" | "agent" | "none";

interface Saved {
  grouping?: Grouping;
  notify?: boolean;
  sound?: boolean;
}

class Settings {
  grouping = $state<Grouping>("project");
  notify = $state(false);
  sound = $state(false);

  constructor() {
    const saved = read<Saved>("settings") ?? {};
    this.grouping = saved.grouping ?? "project";
    this.notify = saved.notify ?? false;
    this.sound = saved.sound ?? false;
  }

  save(): void {
    write("settings", { grouping: this.grouping, notify: this.notify, sound: this.sound });
  }
}

export const settings = new Settings();
