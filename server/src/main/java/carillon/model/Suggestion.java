package carillon.model;

import java.util.Collection;

/** Guesses which known name a misspelt one was meant to be. */
public final class Suggestion {

  private static final int MAX_DISTANCE = 2;
  private static final int MAX_LENGTH = 40;

  private Suggestion() {}

  /** Returns {@code "; did you mean NAME?"}, or an empty text if no known name is close. */
  public static String hint(String word, Collection<String> known) {
    String best = "";
    int bestDistance = MAX_DISTANCE + 1;
    if (word.length() <= MAX_LENGTH) {
      for (String name : known) {
        int distance = startsAlike(word, name) ? distance(word, name) : bestDistance;
        if (distance < bestDistance) {
          best = name;
          bestDistance = distance;
        }
      }
    }
    return best.isEmpty() ? "" : "; did you mean " + best + "?";
  }

  /** People rarely mistype the first letter; words that differ in it are other words. */
  private static boolean startsAlike(String a, String b) {
    return first(a) == first(b);
  }

  private static char first(String word) {
    int start = 0;
    while (start < word.length() && word.charAt(start) == '-') {
      start++;
    }
    return start == word.length() ? '-' : Character.toLowerCase(word.charAt(start));
  }

  /** The Levenshtein distance. */
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
