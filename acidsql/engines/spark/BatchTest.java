package acidsql;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.hive.ql.exec.vector.BytesColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.ColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.Decimal64ColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.LongColumnVector;
import org.apache.hadoop.hive.ql.io.sarg.ExpressionTree;
import org.apache.hadoop.hive.ql.io.sarg.PredicateLeaf;
import org.apache.hadoop.hive.ql.io.sarg.SearchArgument;
import org.apache.hadoop.hive.serde2.io.HiveDecimalWritable;
import org.apache.orc.TypeDescription;

/**
 * Tells of a batch whether it has a row for which a search argument may be true.
 *
 * <p>Only conjunctions are looked at, as acidsql builds them: each part is a leaf, or the negation
 * of one. A part is true of no row whose value is null. Parts that the test does not know are left
 * out, which lets more batches pass.
 */
final class BatchTest {
  private static final BigInteger LONG_MIN = BigInteger.valueOf(Long.MIN_VALUE);
  private static final BigInteger LONG_MAX = BigInteger.valueOf(Long.MAX_VALUE);

  private final Part[] parts;

  /** The names of the fields that are looked at, and their vectors. */
  final String[] columns;

  final ColumnVector[] vectors;

  private BatchTest(List parts, List columns) {
    this.parts = (Part[]) parts.toArray(new Part[0]);
    this.columns = (String[]) columns.toArray(new String[0]);
    this.vectors = new ColumnVector[this.parts.length];
    for (int i = 0; i < this.parts.length; i++) {
      this.vectors[i] = this.parts[i].vector;
    }
  }

  /**
   * The test over these vectors of the row's fields; null if it would let each batch pass.
   *
   * <p>Of the fields, those called `there` are in the file.
   */
  static BatchTest of(
      SearchArgument argument, TypeDescription row, List there, ColumnVector[] vectors) {
    List parts = new ArrayList();
    List columns = new ArrayList();
    if (argument != null) {
      ExpressionTree tree = argument.getExpression();
      boolean isAnd = tree.getOperator() == ExpressionTree.Operator.AND;
      List children = isAnd ? tree.getChildren() : Collections.singletonList(tree);
      for (int i = 0; i < children.size(); i++) {
        ExpressionTree child = (ExpressionTree) children.get(i);
        boolean isNegated = child.getOperator() == ExpressionTree.Operator.NOT;
        ExpressionTree leaf = isNegated ? (ExpressionTree) child.getChildren().get(0) : child;
        if (leaf.getOperator() == ExpressionTree.Operator.LEAF) {
          PredicateLeaf found = (PredicateLeaf) argument.getLeaves().get(leaf.getLeaf());
          String name = found.getColumnName();
          int at = there.contains(name) ? row.getFieldNames().indexOf(name) : -1;
          TypeDescription type = at < 0 ? null : (TypeDescription) row.getChildren().get(at);
          Part part = at < 0 ? null : part(found, isNegated, type, vectors[at]);
          if (part != null) {
            parts.add(part);
            columns.add(name);
          }
        }
      }
    }
    return parts.isEmpty() ? null : new BatchTest(parts, columns);
  }

  /** Whether one of the first `size` rows passes. */
  boolean passes(int size) {
    for (int row = 0; row < size; row++) {
      if (this.isTrue(row)) {
        return true;
      }
    }
    return false;
  }

  private boolean isTrue(int row) {
    for (int i = 0; i < this.parts.length; i++) {
      if (!this.parts[i].isTrue(row)) {
        return false;
      }
    }
    return true;
  }

  private static Part part(
      PredicateLeaf leaf, boolean isNegated, TypeDescription type, ColumnVector vector) {
    List literals = leaf.getLiteralList();
    if (leaf.getOperator() != PredicateLeaf.Operator.IN) {
      literals = Collections.singletonList(leaf.getLiteral());
    }
    boolean isList =
        leaf.getOperator() == PredicateLeaf.Operator.EQUALS
            || leaf.getOperator() == PredicateLeaf.Operator.IN;
    boolean isOrEqual = leaf.getOperator() == PredicateLeaf.Operator.LESS_THAN_EQUALS;
    boolean isRange = isOrEqual || leaf.getOperator() == PredicateLeaf.Operator.LESS_THAN;
    boolean isKnown = isRange || isList && !isNegated;
    if (!isKnown || literals == null || literals.isEmpty() || literals.contains(null)) {
      return null;
    }
    if (leaf.getType() == PredicateLeaf.Type.STRING) {
      if (type.getCategory() != TypeDescription.Category.STRING) {
        return null;
      }
      return new Texts((BytesColumnVector) vector, isList, isNegated, isOrEqual, literals);
    }
    List numbers = new ArrayList();
    for (int i = 0; i < literals.size(); i++) {
      BigDecimal number = number(leaf.getType(), literals.get(i), type, vector);
      if (number == null) {
        return null;
      }
      numbers.add(number);
    }
    return new Longs((LongColumnVector) vector, isList, isNegated, isOrEqual, numbers);
  }

  /** The literal as a number that the vector's longs can be compared with; null if it is none. */
  private static BigDecimal number(
      PredicateLeaf.Type kind, Object literal, TypeDescription type, ColumnVector vector) {
    TypeDescription.Category category = type.getCategory();
    boolean isInteger =
        category == TypeDescription.Category.BYTE
            || category == TypeDescription.Category.SHORT
            || category == TypeDescription.Category.INT
            || category == TypeDescription.Category.LONG;
    if (kind == PredicateLeaf.Type.LONG && isInteger && literal instanceof Long) {
      return BigDecimal.valueOf(((Long) literal).longValue());
    }
    if (kind == PredicateLeaf.Type.DECIMAL
        && vector instanceof Decimal64ColumnVector
        && literal instanceof HiveDecimalWritable) {
      HiveDecimalWritable found = (HiveDecimalWritable) literal;
      return found.getHiveDecimal().bigDecimalValue().scaleByPowerOfTen(type.getScale());
    }
    if (kind == PredicateLeaf.Type.DATE && category == TypeDescription.Category.DATE) {
      if (literal instanceof java.sql.Date) {
        return BigDecimal.valueOf(((java.sql.Date) literal).toLocalDate().toEpochDay());
      }
      if (literal instanceof java.time.LocalDate) {
        return BigDecimal.valueOf(((java.time.LocalDate) literal).toEpochDay());
      }
    }
    return null;
  }

  /** A part of the conjunction. */
  private abstract static class Part {
    final ColumnVector vector;

    Part(ColumnVector vector) {
      this.vector = vector;
    }

    boolean isTrue(int row) {
      int at = this.vector.isRepeating ? 0 : row;
      return (this.vector.noNulls || !this.vector.isNull[at]) && this.isTrueAt(at);
    }

    abstract boolean isTrueAt(int at);
  }

  /** Longs from `low` to `high`, and if they are `listed`, only those. */
  private static final class Longs extends Part {
    private final LongColumnVector values;
    private final long[] listed;
    private final long low;
    private final long high;

    Longs(
        LongColumnVector values,
        boolean isList,
        boolean isNegated,
        boolean isOrEqual,
        List numbers) {
      super(values);
      this.values = values;
      BigInteger low = LONG_MIN;
      BigInteger high = LONG_MAX;
      BigDecimal first = (BigDecimal) numbers.get(0);
      BigInteger down = first.setScale(0, RoundingMode.FLOOR).toBigInteger();
      BigInteger up = first.setScale(0, RoundingMode.CEILING).toBigInteger();
      if (isList) {
        this.listed = longs(numbers);
      } else {
        this.listed = null;
        if (isNegated) {
          low = isOrEqual ? down.add(BigInteger.ONE) : up;
        } else {
          high = isOrEqual ? down : up.subtract(BigInteger.ONE);
        }
      }
      boolean isEmpty = low.compareTo(LONG_MAX) > 0 || high.compareTo(LONG_MIN) < 0;
      this.low = isEmpty ? 1 : low.max(LONG_MIN).longValue();
      this.high = isEmpty ? 0 : high.min(LONG_MAX).longValue();
    }

    /** Those of the numbers that are longs, sorted. */
    private static long[] longs(List numbers) {
      long[] found = new long[numbers.size()];
      int count = 0;
      for (int i = 0; i < found.length; i++) {
        BigDecimal number = (BigDecimal) numbers.get(i);
        BigInteger whole = number.toBigInteger();
        if (new BigDecimal(whole).compareTo(number) == 0 && whole.bitLength() < 64) {
          found[count] = whole.longValue();
          count++;
        }
      }
      found = Arrays.copyOf(found, count);
      Arrays.sort(found);
      return found;
    }

    boolean isTrueAt(int at) {
      long value = this.values.vector[at];
      return this.low <= value
          && value <= this.high
          && (this.listed == null || Arrays.binarySearch(this.listed, value) >= 0);
    }
  }

  /** Texts of a list, or before or behind one, in the order of their bytes. */
  private static final class Texts extends Part {
    private final BytesColumnVector values;
    private final boolean isList;
    private final boolean isNegated;
    private final boolean isOrEqual;
    private final byte[][] texts;

    Texts(
        BytesColumnVector values,
        boolean isList,
        boolean isNegated,
        boolean isOrEqual,
        List literals) {
      super(values);
      this.values = values;
      this.isList = isList;
      this.isNegated = isNegated;
      this.isOrEqual = isOrEqual;
      this.texts = new byte[literals.size()][];
      for (int i = 0; i < this.texts.length; i++) {
        this.texts[i] = ((String) literals.get(i)).getBytes(StandardCharsets.UTF_8);
      }
    }

    boolean isTrueAt(int at) {
      if (!this.isList) {
        int order = this.order(at, this.texts[0]);
        return (this.isOrEqual ? order <= 0 : order < 0) != this.isNegated;
      }
      for (int i = 0; i < this.texts.length; i++) {
        if (this.order(at, this.texts[i]) == 0) {
          return true;
        }
      }
      return false;
    }

    private int order(int at, byte[] text) {
      int start = this.values.start[at];
      int end = start + this.values.length[at];
      return Arrays.compareUnsigned(this.values.vector[at], start, end, text, 0, text.length);
    }
  }
}
