package acidsql;

import org.apache.hadoop.hive.ql.exec.vector.Decimal64ColumnVector;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarMap;
import org.apache.spark.unsafe.types.UTF8String;

/** Decimals that ORC's reader has decoded as longs. */
final class LongDecimals extends ColumnVector {
  int size;
  private final Decimal64ColumnVector data;

  LongDecimals(DataType type, Decimal64ColumnVector data) {
    super(type);
    this.data = data;
  }

  public void close() {}

  public boolean hasNull() {
    return !this.data.noNulls;
  }

  public int numNulls() {
    int found = 0;
    for (int i = 0; i < this.size; i++) {
      found += this.isNullAt(i) ? 1 : 0;
    }
    return found;
  }

  public boolean isNullAt(int at) {
    return !this.data.noNulls && this.data.isNull[this.data.isRepeating ? 0 : at];
  }

  public Decimal getDecimal(int at, int precision, int scale) {
    if (this.isNullAt(at)) {
      return null;
    }
    long value = this.data.vector[this.data.isRepeating ? 0 : at];
    return Decimal.createUnsafe(value, precision, scale);
  }

  public boolean getBoolean(int at) {
    throw new UnsupportedOperationException();
  }

  public byte getByte(int at) {
    throw new UnsupportedOperationException();
  }

  public short getShort(int at) {
    throw new UnsupportedOperationException();
  }

  public int getInt(int at) {
    throw new UnsupportedOperationException();
  }

  public long getLong(int at) {
    throw new UnsupportedOperationException();
  }

  public float getFloat(int at) {
    throw new UnsupportedOperationException();
  }

  public double getDouble(int at) {
    throw new UnsupportedOperationException();
  }

  public ColumnarArray getArray(int at) {
    throw new UnsupportedOperationException();
  }

  public ColumnarMap getMap(int at) {
    throw new UnsupportedOperationException();
  }

  public UTF8String getUTF8String(int at) {
    throw new UnsupportedOperationException();
  }

  public byte[] getBinary(int at) {
    throw new UnsupportedOperationException();
  }

  public ColumnVector getChild(int at) {
    throw new UnsupportedOperationException();
  }
}
