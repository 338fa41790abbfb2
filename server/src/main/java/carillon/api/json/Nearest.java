package carillon.api.json;

import java.util.Collection;

/** Suggests a known name for a misspelt one. */
public final class Nearest {

  private static final int MAX_NAME = 40;

  private Nearest() {}

  /** The suggestion as the end of an error message; empty if no name is similar. */
  public static String hint(String name, Collection<String> known) {
    String best = "";
    int bestDistance = Math.max(2, name.length() / 3) + 1;
    if (name.length() <= MAX_NAME) {
      for (String each : known) {
        int distance = distance(name, each);
        if (distance < bestDistance && hasSameFirstLetter(name, each)) {
          best = each;
          bestDistance = distance;
        }
      }
    }
    return best.isEmpty() ? "" : "; did you mean " + best + "?";
  }

  /** People rarely mistype the first letter; without this rule, "url" would suggest "ttl". */
  private static boolean hasSameFirstLetter(String a, String b) {
    return !a.isEmpty() && a.regionMatches(true, 0, b, 0, 1);
  }

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
