package carillon.api.json;

import java.util.Collection;

/** Guesses which known name a misspelt one was meant to be. */
public final class Nearest {

  private static final int MAX_NAME = 40;

  private Nearest() {}

  /** Says which name is near, or nothing. */
  public static String hint(String name, Collection<String> known) {
    String best = "";
    int bestDistance = Math.max(2, name.length() / 3) + 1;
    if (name.length() <= MAX_NAME) {
      for (String each : known) {
        int distance = distance(name, each);
        if (distance < bestDistance) {
          best = each;
          bestDistance = distance;
        }
      }
    }
    return best.isEmpty() ? "" : "; did you mean " + best + "?";
  }

  /** Edit distance. */
  private static int distance(String a, String b) {
    int[] row = new int[b.length() + 1];
    for (int j = 0; j <= b.length(); j++) {
      row[j] = j;
    }
    for (int i = 1; i <= a.length(); i++) {
      int diagonal = row[0];
      row[0] = i;
      for (int j = 1; j <= b.length(); j++) {
        int above = row[j];
        int change = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
        row[j] = Math.min(change, Math.min(above, row[j - 1]) + 1);
        diagonal = above;
      }
    }
    return row[b.length()];
  }
}
